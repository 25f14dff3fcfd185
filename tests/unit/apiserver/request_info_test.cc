#include "apiserver/request_info.h"

#include "tests/unit/apiserver/api_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::apiserver {
namespace {

using Json = nlohmann::json;

RequestInfo parsed(std::string_view method, std::string_view target) {
  Result<RequestInfo> info = parse_request(method, target);
  EXPECT_TRUE(info.has_value()) << target << ": " << (info ? "" : info.error().message);
  return info ? *info : RequestInfo{};
}

// "verb group/version ns=N resource/sub name=X" or "verb path".
std::string access(std::string_view method, std::string_view target) {
  const kube::AccessAttributes a = parsed(method, target).attributes;
  if (!a.resource_request) return a.verb + ' ' + a.path;
  return a.verb + ' ' + a.group + '/' + a.version + " ns=" + a.namespace_name + ' ' + a.resource +
         '/' + a.subresource + " name=" + a.name;
}

TEST(RequestInfo, B29AccessReviewAttributesAreThoseOfTheApiServer) {
  const auto requests = nlohmann::json::parse(testdata("B29-access-reviews.json")).at("requests");
  const auto wanted =
      nlohmann::json::parse(testdata("B29-access-reviews.expected.json")).at("attributes");
  ASSERT_EQ(requests.size(), wanted.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string line = requests[i];
    SCOPED_TRACE(line);
    const kube::AccessAttributes a = parsed("GET", line.substr(4)).attributes;
    EXPECT_EQ(Json(a.verb), wanted[i].at("verb"));
    EXPECT_EQ(a.resource_request, !wanted[i].contains("nonResourcePath"));
    if (!a.resource_request) {
      EXPECT_EQ(Json(a.path), wanted[i].at("nonResourcePath"));
      continue;
    }
    EXPECT_EQ(Json(a.group), wanted[i].at("group"));
    EXPECT_EQ(Json(a.version), wanted[i].at("version"));
    EXPECT_EQ(Json(a.namespace_name), wanted[i].at("namespace"));
    EXPECT_EQ(Json(a.resource), wanted[i].at("resource"));
    EXPECT_EQ(Json(a.subresource), wanted[i].at("subresource"));
    EXPECT_EQ(Json(a.name), wanted[i].at("name"));
  }
}

TEST(RequestInfo, AttributesFollowTheApiServerOnOddPaths) {
  const auto f = [](int line, std::string_view method, std::string_view target,
                    std::string_view want) {
    SCOPED_TRACE(line);
    EXPECT_EQ(access(method, target), want) << target;
  };
  const std::string c = "/apis/custom.metrics.k8s.io/v1beta1";
  const std::string e = "/apis/external.metrics.k8s.io/v1beta1";
  f(__LINE__, "GET", c + "/namespaces/d/pods/a/../m",
    "get custom.metrics.k8s.io/v1beta1 ns=d pods/.. name=a");
  f(__LINE__, "GET", c + "/namespaces/d//pods/a/m",
    "get custom.metrics.k8s.io/v1beta1 ns=d /a name=pods");
  f(__LINE__, "GET", c + "/namespaces/d/pods",
    "list custom.metrics.k8s.io/v1beta1 ns=d pods/ name=");
  f(__LINE__, "GET", c + "/namespaces/d",
    "get custom.metrics.k8s.io/v1beta1 ns=d namespaces/ name=d");
  f(__LINE__, "GET", c + "/namespaces/d/status",
    "get custom.metrics.k8s.io/v1beta1 ns=d namespaces/status name=d");
  f(__LINE__, "HEAD", c + "/nodes/n/m", "get custom.metrics.k8s.io/v1beta1 ns= nodes/m name=n");
  f(__LINE__, "POST", c + "/namespaces/d/pods/a/m",
    "create custom.metrics.k8s.io/v1beta1 ns=d pods/m name=a");
  f(__LINE__, "PUT", c + "/namespaces/d/pods/a/m",
    "update custom.metrics.k8s.io/v1beta1 ns=d pods/m name=a");
  f(__LINE__, "PATCH", c + "/namespaces/d/pods/a/m",
    "patch custom.metrics.k8s.io/v1beta1 ns=d pods/m name=a");
  f(__LINE__, "DELETE", c + "/namespaces/d/pods/a/m",
    "delete custom.metrics.k8s.io/v1beta1 ns=d pods/m name=a");
  f(__LINE__, "DELETE", e + "/namespaces/d/m",
    "deletecollection external.metrics.k8s.io/v1beta1 ns=d m/ name=");
  f(__LINE__, "OPTIONS", c + "/namespaces/d/pods/a/m",
    " custom.metrics.k8s.io/v1beta1 ns=d pods/m name=a");
  f(__LINE__, "GET", e + "/namespaces/d/m?watch=yes",
    "watch external.metrics.k8s.io/v1beta1 ns=d m/ name=");
  f(__LINE__, "GET",
    e + "/namespaces/d/m?watch=", "watch external.metrics.k8s.io/v1beta1 ns=d m/ name=");
  f(__LINE__, "GET", e + "/namespaces/d/m?watch=False",
    "list external.metrics.k8s.io/v1beta1 ns=d m/ name=");
  f(__LINE__, "GET", e + "/namespaces/d/m?watch=0",
    "list external.metrics.k8s.io/v1beta1 ns=d m/ name=");
  f(__LINE__, "GET", e + "/namespaces/d/m?fieldSelector=metadata.name%3Dx",
    "list external.metrics.k8s.io/v1beta1 ns=d m/ name=x");
  f(__LINE__, "GET", e + "/namespaces/d/m?fieldSelector=metadata.name%3Dx&limit=zz",
    "list external.metrics.k8s.io/v1beta1 ns=d m/ name=");
  f(__LINE__, "GET", e + "/namespaces/d/m?fieldSelector=metadata.name%3Da%252Fb",
    "list external.metrics.k8s.io/v1beta1 ns=d m/ name=");
  f(__LINE__, "GET", e + "/m", "list external.metrics.k8s.io/v1beta1 ns= m/ name=");
  f(__LINE__, "GET", "/apis/custom.metrics.k8s.io", "get /apis/custom.metrics.k8s.io");
  f(__LINE__, "HEAD", "/metrics", "head /metrics");
  f(__LINE__, "GET", "/", "get /");
  f(__LINE__, "GET", "/apis/", "get /apis/");
  f(__LINE__, "GET", "//healthz", "get //healthz");
  f(__LINE__, "GET", "/healthz/../metrics", "get /healthz/../metrics");
  f(__LINE__, "GET", "/api/v1/namespaces/d/pods/p", "get /v1 ns=d pods/ name=p");
}

TEST(RequestInfo, RoutesAreToldApart) {
  const auto f = [](int line, std::string_view target, Route want) {
    SCOPED_TRACE(line);
    EXPECT_EQ(to_string(parsed("GET", target).route), to_string(want)) << target;
  };
  const std::string c = "/apis/custom.metrics.k8s.io/v1beta2";
  const std::string e = "/apis/external.metrics.k8s.io/v1beta1";
  f(__LINE__, c + "/namespaces/d/pods/%2A/m", Route::kPodMetric);
  f(__LINE__, c + "/namespaces/d/pods/a/m/", Route::kPodMetric);
  f(__LINE__, c + "/namespaces/d/services/web/m", Route::kObjectMetric);
  f(__LINE__, c + "/namespaces/d/deployments.apps/web/m", Route::kObjectMetric);
  f(__LINE__, c + "/nodes/n1/m", Route::kObjectMetric);
  f(__LINE__, c + "/pods/a/m",
    Route::kObjectMetric);  // pods are in namespaces: this is no pod of ours
  f(__LINE__, c + "/namespaces/d/metrics/m", Route::kNamespaceMetric);
  f(__LINE__, c + "/namespaces/d/metrics", Route::kShortPath);
  f(__LINE__, c + "/namespaces/d/pods", Route::kShortPath);
  f(__LINE__, c + "/namespaces/d/pods/a", Route::kUnknownInGroup);
  f(__LINE__, c + "/namespaces/d/pods/a/m/x", Route::kUnknownInGroup);
  f(__LINE__, c + "/namespaces/d/pods/a/../m", Route::kUnknownInGroup);
  f(__LINE__, c + "/namespaces/d//pods/a/m", Route::kUnknownInGroup);
  f(__LINE__, c + "/namespaces//pods/a/m", Route::kUnknownInGroup);
  f(__LINE__, c + "/namespaces/d/pods/a/m//", Route::kUnknownInGroup);
  f(__LINE__, e + "/namespaces/d/m", Route::kExternalMetric);
  f(__LINE__, e + "/namespaces/d/status", Route::kUnknownInGroup);
  f(__LINE__, e + "/namespaces/d/a/b", Route::kUnknownInGroup);
  f(__LINE__, e + "/m", Route::kUnknownInGroup);
  f(__LINE__, "/apis", Route::kGroupList);
  f(__LINE__, "/apis/", Route::kGroupList);
  f(__LINE__, "/apis/custom.metrics.k8s.io", Route::kGroup);
  f(__LINE__, c, Route::kGroupVersion);
  f(__LINE__, "/apis/apps/v1", Route::kUnknown);
  f(__LINE__, "/apis/apps/v1/namespaces/d/deployments/x", Route::kUnknown);
  f(__LINE__, "/openapi/v2", Route::kOpenApiV2);
  f(__LINE__, "/openapi/v3", Route::kOpenApiV3);
  f(__LINE__, "/openapi/v3/apis/custom.metrics.k8s.io/v1beta1?hash=X",
    Route::kOpenApiV3GroupVersion);
  f(__LINE__, "/version", Route::kVersion);
  f(__LINE__, "/version/", Route::kVersion);
  f(__LINE__, "/healthz", Route::kHealth);
  f(__LINE__, "/readyz/ping", Route::kHealth);
  f(__LINE__, "/readyz/ping/x", Route::kUnknown);
  f(__LINE__, "//healthz", Route::kUnknown);
  f(__LINE__, "/healthz/../metrics", Route::kUnknown);
  f(__LINE__, "/metrics", Route::kMetrics);
  f(__LINE__, "/", Route::kIndex);
  f(__LINE__, "/favicon.ico", Route::kUnknown);
}

TEST(RequestInfo, SegmentsAreDecodedOnceAndPlusOnlyInTheQuery) {
  const RequestInfo info = parsed("GET",
                                  "/apis/custom.metrics.k8s.io/v1beta1/namespaces/d/pods/%2A/"
                                  "a:b%7Cc%20d+%252A?labelSelector=tier+in+%28a%2Cb%29&pretty");
  EXPECT_EQ(info.namespace_name, "d");
  EXPECT_EQ(info.name, "*");
  EXPECT_EQ(info.metric, "a:b|c d+%2A");
  ASSERT_NE(find_parameter(info.query, "labelSelector"), nullptr);
  EXPECT_EQ(*find_parameter(info.query, "labelSelector"), "tier in (a,b)");
  ASSERT_NE(find_parameter(info.query, "pretty"), nullptr);
  EXPECT_EQ(find_parameter(info.query, "limit"), nullptr);
}

TEST(RequestInfo, ExternalMetricNamesAreLowerCase) {
  const RequestInfo info =
      parsed("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/Ns/Queue_Depth");
  EXPECT_EQ(info.metric, "queue_depth");
  EXPECT_EQ(info.namespace_name, "Ns");
  EXPECT_EQ(info.attributes.resource, "Queue_Depth");
}

TEST(RequestInfo, WhatCannotBeReadOneWayIsRefused) {
  for (const std::string_view target :
       {"", "*", "http://host/apis", "/apis/%", "/apis/%2", "/apis/%zz", "/a%00b", "/a%0Ab",
        "/a%7f", "/%ff", "/%c3", "/%ed%a0%80", "/a%2Fb", "/healthz%2f..%2fmetrics", "/apis?x=%zz",
        "/apis?x=1;y=2", "/apis?x=%00"}) {
    const Result<RequestInfo> info = parse_request("GET", target);
    ASSERT_FALSE(info.has_value()) << target;
    EXPECT_EQ(info.error().code, Code::kBadRequest) << target;
  }
  EXPECT_TRUE(parse_request("GET", "/apis/x/v1/pods/p/%C3%A9").has_value());
}

}  // namespace
}  // namespace loadline::apiserver
