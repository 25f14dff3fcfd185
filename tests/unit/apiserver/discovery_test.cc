#include "apiserver/discovery.h"

#include "apiserver/openapi.h"
#include "tests/unit/apiserver/api_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::apiserver {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBoth =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

MetricCatalogue sample_catalogue() {
  MetricCatalogue catalogue;
  catalogue.custom = {
      {"pods", true, "http_requests"}, {"pods", true, "queue_depth"}, {"nodes", false, "gpu_busy"}};
  catalogue.external_enabled = true;
  catalogue.external = {"queue_depth"};
  return catalogue;
}

Json parsed(const Document* document) { return Json::parse(*document->body); }

TEST(Discovery, DocumentsAreWhatARealControlPlaneTook) {
  const Discovery discovery(sample_catalogue());
  EXPECT_EQ(*discovery.groups(kBoth)->body, testdata("discovery-aggregated-v2.json"));
  EXPECT_EQ(*discovery.resources("custom.metrics.k8s.io", "v1beta1")->body,
            testdata("discovery-legacy-custom-v1beta1.json"));
  EXPECT_EQ(*discovery.resources("external.metrics.k8s.io", "v1beta1")->body,
            testdata("discovery-legacy-external-v1beta1.json"));
}

TEST(Discovery, TheAggregatedFormIsNegotiated) {
  const Discovery discovery(sample_catalogue());
  const auto f = [&](int line, std::string_view accept, std::string_view kind,
                     std::string_view version, std::string_view type) {
    SCOPED_TRACE(line);
    const Document* document = discovery.groups(accept);
    ASSERT_NE(document, nullptr);
    EXPECT_EQ(parsed(document).at("kind"), kind);
    EXPECT_EQ(parsed(document).at("apiVersion"), version);
    EXPECT_EQ(document->content_type, type);
  };
  const std::string v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const std::string v2beta1 =
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
  f(__LINE__, kBoth, "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2", v2);
  f(__LINE__, v2beta1, "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2beta1", v2beta1);
  f(__LINE__, "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io, */*",
    "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2", v2);
  f(__LINE__, "application/json", "APIGroupList", "v1", "application/json");
  f(__LINE__, "", "APIGroupList", "v1", "application/json");
  f(__LINE__,
    "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json",
    "APIGroupList", "v1", "application/json");
  EXPECT_EQ(
      discovery.groups("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList"),
      nullptr);
  EXPECT_EQ(discovery.groups("text/html"), nullptr);
}

TEST(Discovery, B01EveryGroupVersionHasAnEntryBeforeAnyPodExists) {
  MetricCatalogue nothing;
  nothing.external_enabled = true;
  const Discovery discovery(nothing);
  const Json requests = Json::parse(testdata("B01-discovery-requests.json")).at("requests");
  ASSERT_EQ(requests.size(), 3u);
  for (const Json& request : requests) {
    const std::string path = request.at("path");
    SCOPED_TRACE(path);
    const std::string gv = path.substr(6);
    const std::string group = gv.substr(0, gv.find('/'));
    const Document* document = discovery.resources(group, gv.substr(group.size() + 1));
    ASSERT_NE(document, nullptr);
    const Json list = parsed(document);
    EXPECT_EQ(list.at("kind"), "APIResourceList");
    EXPECT_EQ(list.at("apiVersion"), "v1");
    EXPECT_EQ(list.at("groupVersion"), gv);
    ASSERT_GE(list.at("resources").size(), 1u);
    const Json& entry = list.at("resources")[0];
    const std::string name = entry.at("name");
    EXPECT_FALSE(name.empty());
    const bool external = group.starts_with("external");
    EXPECT_EQ(name.find('/') == std::string::npos, external) << name;
    EXPECT_TRUE(entry.at("singularName").is_string());
    EXPECT_TRUE(entry.at("namespaced").is_boolean());
    EXPECT_EQ(entry.at("kind"), external ? "ExternalMetricValueList" : "MetricValueList");
    EXPECT_EQ(entry.at("verbs"), Json::array({"get"}));
  }
}

TEST(Discovery, ExternalMetricsAreOffByDefault) {
  const Discovery discovery(pod_metric_catalogue());
  EXPECT_FALSE(discovery.serves("external.metrics.k8s.io"));
  EXPECT_FALSE(discovery.serves("external.metrics.k8s.io", "v1beta1"));
  EXPECT_EQ(discovery.groups(kBoth)->body->find("external"), std::string::npos);
  EXPECT_TRUE(discovery.serves("custom.metrics.k8s.io", "v1beta1"));
  EXPECT_FALSE(discovery.serves("custom.metrics.k8s.io", "v1"));
}

TEST(Discovery, EveryMetricOfPodsIsListed) {
  const Discovery discovery(pod_metric_catalogue());
  const Json resources =
      parsed(discovery.resources("custom.metrics.k8s.io", "v1beta2")).at("resources");
  EXPECT_EQ(resources.size(), provider::kPodMetrics);
  EXPECT_EQ(resources[0].at("name"), "pods/inference_capacity");
}

TEST(Discovery, TheNewerVersionIsPreferred) {
  const Discovery discovery(pod_metric_catalogue());
  const Json group = parsed(discovery.group("custom.metrics.k8s.io"));
  EXPECT_EQ(group.at("kind"), "APIGroup");
  EXPECT_EQ(group.at("versions").size(), 2u);
  EXPECT_EQ(group.at("preferredVersion").at("version"), "v1beta2");
}

TEST(Discovery, NamesThatCannotBeAskedForAreNotListed) {
  MetricCatalogue catalogue;
  catalogue.custom = {{"pods", true, "a/b"}, {"pods", true, "*"}, {"pods", true, "a:b"}};
  const Discovery discovery(catalogue);
  const Json resources =
      parsed(discovery.resources("custom.metrics.k8s.io", "v1beta1")).at("resources");
  ASSERT_EQ(resources.size(), 1u);
  EXPECT_EQ(resources[0].at("name"), "pods/a:b");
}

TEST(Discovery, OneResourceHasOneScope) {
  MetricCatalogue catalogue;
  catalogue.custom = {{"nodes", false, "a"}, {"nodes", true, "b"}};
  const Discovery discovery(catalogue);
  const Json resources =
      parsed(discovery.resources("custom.metrics.k8s.io", "v1beta1")).at("resources");
  ASSERT_EQ(resources.size(), 2u);
  for (const Json& entry : resources) {
    EXPECT_EQ(entry.at("namespaced"), false);
  }
}

TEST(OpenApi, B17DocumentsAreSmallAndValid) {
  VersionInfo version;
  version.git_version = "v1.2.3";
  const Discovery discovery(pod_metric_catalogue());
  const OpenApi openapi(discovery.group_versions(), version);
  const Json v2 = parsed(&openapi.v2());
  EXPECT_EQ(v2.at("swagger"), "2.0");
  EXPECT_EQ(v2.at("info").at("version"), "v1.2.3");
  EXPECT_TRUE(v2.at("paths").is_object());
  const Json paths = parsed(&openapi.v3()).at("paths");
  EXPECT_EQ(paths.size(), 2u);
  const std::string url = paths.at("apis/custom.metrics.k8s.io/v1beta1").at("serverRelativeURL");
  EXPECT_TRUE(url.starts_with("/openapi/v3/apis/custom.metrics.k8s.io/v1beta1?hash=")) << url;
  ASSERT_NE(openapi.v3("custom.metrics.k8s.io", "v1beta1"), nullptr);
  EXPECT_EQ(parsed(openapi.v3("custom.metrics.k8s.io", "v1beta1")).at("openapi"), "3.0.0");
  EXPECT_EQ(openapi.v3("apps", "v1"), nullptr);
}

TEST(Document, TheTagOfAContentIsKnownAgain) {
  const Document document = make_document("x");
  EXPECT_EQ(document.etag, make_document("x").etag);
  EXPECT_NE(document.etag, make_document("y").etag);
  const auto known = [&](const std::string& value) {
    return is_known_to_client(document, {{"If-None-Match", value}});
  };
  EXPECT_TRUE(known(document.etag));
  EXPECT_TRUE(known("\"other\", W/" + document.etag));
  EXPECT_TRUE(known("*"));
  EXPECT_FALSE(known("\"ETAG\""));
  EXPECT_FALSE(known(""));
  EXPECT_FALSE(known(","));
  EXPECT_FALSE(is_known_to_client(document, {}));
}

}  // namespace
}  // namespace loadline::apiserver
