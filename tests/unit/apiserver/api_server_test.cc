#include "apiserver/api_server.h"

#include "tests/unit/apiserver/api_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::apiserver {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

const std::string kV1 = "/apis/custom.metrics.k8s.io/v1beta1";
const std::string kV2 = "/apis/custom.metrics.k8s.io/v1beta2";
constexpr std::int64_t kTime = 1'767'323'045;  // 2026-01-02T03:04:05Z

ApiServer::Options with_external() {
  ApiServer::Options options;
  options.catalogue.external_enabled = true;
  return options;
}

FakeProvider::Answer two_pods(const provider::PodMetricQuery& query) {
  if (query.namespace_name != "ns1") return Error(Code::kNotFound, "there is no pod in namespace");
  if (query.metric != "requests_running") return Error(Code::kNotFound, "pods have no such metric");
  return std::vector<provider::PodMetricItem>{item("a", 3, kTime), item("b", 0.5, kTime + 1)};
}

std::string message_of(const net::ServerResponse& response) {
  return Json::parse(body_of(response)).at("message");
}

TEST(ApiServer, B13BothVersionsTellTheSame) {
  TestServer server;
  server.provider.answer = two_pods;
  const Json requests = Json::parse(testdata("B13-two-versions.json")).at("requests");
  const auto v1beta1 = server.get(requests[0]);
  EXPECT_EQ(v1beta1.status, 200);
  EXPECT_EQ(v1beta1.content_type, "application/json");
  EXPECT_EQ(
      body_of(v1beta1),
      R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta1","metadata":{},"items":[{"describedObject":{"kind":"Pod","namespace":"ns1","name":"a","apiVersion":"v1"},"metricName":"requests_running","timestamp":"2026-01-02T03:04:05Z","value":"3","selector":null},{"describedObject":{"kind":"Pod","namespace":"ns1","name":"b","apiVersion":"v1"},"metricName":"requests_running","timestamp":"2026-01-02T03:04:06Z","value":"500m","selector":null}]})"
      "\n");
  const auto v1beta2 = server.get(requests[1]);
  EXPECT_EQ(
      body_of(v1beta2),
      R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","metadata":{},"items":[{"describedObject":{"kind":"Pod","namespace":"ns1","name":"a","apiVersion":"v1"},"metric":{"name":"requests_running","selector":null},"timestamp":"2026-01-02T03:04:05Z","value":"3"},{"describedObject":{"kind":"Pod","namespace":"ns1","name":"b","apiVersion":"v1"},"metric":{"name":"requests_running","selector":null},"timestamp":"2026-01-02T03:04:06Z","value":"500m"}]})"
      "\n");
  const auto v1 = server.get(requests[2]);
  EXPECT_EQ(v1.status, 404);
  EXPECT_EQ(Json::parse(body_of(v1)).at("kind"), "Status");
}

TEST(ApiServer, B09EveryItemIsDescribedByItsPod) {
  TestServer server;
  server.provider.answer = [](const provider::PodMetricQuery&) {
    return FakeProvider::Answer(std::vector<provider::PodMetricItem>{
        item("a", 3, kTime), item("b", 2, kTime), item("c", 4, kTime)});
  };
  const Json items =
      Json::parse(body_of(server.get(kV2 + "/namespaces/ns1/pods/*/requests_running"))).at("items");
  ASSERT_EQ(items.size(), 3u);
  const std::string names = "abc";
  for (std::size_t i = 0; i < 3; ++i) {
    const Json want = {
        {"kind", "Pod"}, {"namespace", "ns1"}, {"name", names.substr(i, 1)}, {"apiVersion", "v1"}};
    EXPECT_EQ(items[i].at("describedObject"), want);
  }
}

TEST(ApiServer, B01DiscoveryAnswersBeforeAnyPodExists) {
  TestServer server(with_external());
  server.provider.answer = [](const provider::PodMetricQuery&) {
    return FakeProvider::Answer(Error(Code::kUnavailable, "the list of pods is not complete yet"));
  };
  const Json requests = Json::parse(testdata("B01-discovery-requests.json")).at("requests");
  ASSERT_EQ(requests.size(), 3u);
  for (const Json& request : requests) {
    const std::string path = request.at("path");
    const auto response = server.get(path, {{"Accept", "application/json"}});
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.content_type, "application/json");
    const Json list = Json::parse(body_of(response));
    EXPECT_EQ(list.at("groupVersion"), path.substr(6));
    EXPECT_GE(list.at("resources").size(), 1u);
  }
}

TEST(ApiServer, B03TheThreeCausesOfNothingCanBeToldApart) {
  TestServer server;
  std::string why;
  server.provider.answer = [&](const provider::PodMetricQuery&) {
    return FakeProvider::Answer(Error(Code::kNotFound, why));
  };
  const auto ask = [&](const std::string& cause, const std::string& rest) {
    why = cause;
    const auto response = server.get(kV2 + "/namespaces/ns1/pods/" + rest);
    EXPECT_EQ(response.status, 404);
    const Json status = Json::parse(body_of(response));
    EXPECT_EQ(status.at("reason"), "NotFound");
    EXPECT_EQ(status.at("code"), 404);
    return status.at("message").get<std::string>();
  };
  EXPECT_EQ(ask("pods have no metric \"nosuch\"", "%2A/nosuch"),
            "the server could not find the metric nosuch for pods: pods have no metric \"nosuch\"");
  EXPECT_EQ(ask("no pod matches", "%2A/m?labelSelector=app%3Dnone"),
            "the server could not find the metric m for pods: no pod matches");
  EXPECT_EQ(ask("1 scrape_failed", "a/m"),
            "the server could not find the metric m for pods a: 1 scrape_failed");
}

TEST(ApiServer, TheQueryReachesTheProviderDecoded) {
  TestServer server;
  server.get(
      kV2 + "/namespaces/d/pods/%2A/vllm%3Anum_requests_running?labelSelector=tier+in+%28a%2Cb%29");
  server.get(kV2 + "/namespaces/d/pods/p-0/m?labelSelector=app%3Dweb");
  ASSERT_EQ(server.provider.queries.size(), 2u);
  EXPECT_EQ(server.provider.queries[0].namespace_name, "d");
  EXPECT_EQ(server.provider.queries[0].pod, "*");
  EXPECT_EQ(server.provider.queries[0].metric, "vllm:num_requests_running");
  EXPECT_EQ(server.provider.queries[0].labels.to_string(), "tier in (a,b)");
  EXPECT_EQ(server.provider.queries[1].pod, "p-0");
  EXPECT_TRUE(
      server.provider.queries[1].labels.empty());  // labels select among all, not within one
}

TEST(ApiServer, MetricLabelsThatNoMetricHasSelectNothing) {
  TestServer server;
  server.provider.answer = two_pods;
  const std::string path = kV2 + "/namespaces/ns1/pods/%2A/requests_running?metricLabelSelector=";
  const auto nothing = server.get(path + "model%3Dx");
  EXPECT_EQ(nothing.status, 404);
  EXPECT_THAT(message_of(nothing), HasSubstr("the server could not find the metric "
                                             "requests_running for pods * with selector model=x"));
  const auto all = server.get(path + "%21model");
  EXPECT_EQ(all.status, 200);
  EXPECT_THAT(
      body_of(all),
      HasSubstr(R"("selector":{"matchExpressions":[{"key":"model","operator":"DoesNotExist"}]})"));
  EXPECT_EQ(server.get(path + "%3D").status, 400);
  EXPECT_EQ(server.get(path + "a%3E1").status, 400);
}

TEST(ApiServer, BeforeThePodsAreKnownMetricsAreUnavailableWithoutRetryAfter) {
  TestServer server;
  server.provider.answer = [](const provider::PodMetricQuery&) {
    return FakeProvider::Answer(Error(Code::kUnavailable, "the list of pods is not complete yet"));
  };
  const auto response = server.get(kV2 + "/namespaces/d/pods/%2A/m");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(Json::parse(body_of(response)).at("reason"), "ServiceUnavailable");
  EXPECT_EQ(header_of(response, "Retry-After"), "");
  EXPECT_EQ(server.get(kV2).status, 200);
}

TEST(ApiServer, OtherObjectsHaveNoMetricsYet) {
  TestServer server(with_external());
  const auto f = [&](int line, const std::string& target, int status, const std::string& message) {
    SCOPED_TRACE(line);
    const auto response = server.get(target);
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(message_of(response), message);
  };
  f(__LINE__, kV2 + "/namespaces/d/deployments.apps/web/m", 404,
    "the server could not find the metric m for deployments.apps web");
  f(__LINE__, kV2 + "/nodes/n1/m?metricLabelSelector=a%3D1", 404,
    "the server could not find the metric m for nodes n1 with selector a=1");
  f(__LINE__, kV2 + "/namespaces/d/metrics/m", 404,
    "the server could not find the metric m for namespaces d");
  f(__LINE__, "/apis/external.metrics.k8s.io/v1beta1/namespaces/d/Queue", 404,
    "the server could not find the external metric queue for namespaces d");
  f(__LINE__, kV2 + "/namespaces/d/pods", 400, "invalid request path");
  f(__LINE__, kV2 + "/namespaces/d/pods/a/..", 400,
    "invalid metric name \"..\": [may not be '..']");
  f(__LINE__, kV2 + "/namespaces/d/pods/a/m%25", 400,
    "invalid metric name \"m%\": [may not contain '%']");
  f(__LINE__, kV2 + "/namespaces/d/pods/a/m%2Fx", 400,
    "invalid URL escape \"%2F\": a path segment may not contain '/'");
  f(__LINE__, kV2 + "/namespaces/d/pods/a/m?limit=abc", 400,
    "strconv.ParseInt: parsing \"abc\": invalid syntax");
  f(__LINE__, kV2 + "/namespaces/d/pods/a/../m", 404,
    "the server could not find the requested resource");
}

TEST(ApiServer, PathsThatAreNotThere) {
  TestServer server;
  for (const char* target :
       {"/nosuch", "/apis/apps/v1", "/readyz/nosuch", "/openapi/v3/apis/apps/v1", "//healthz"}) {
    const auto response = server.get(target);
    EXPECT_EQ(response.status, 404) << target;
    EXPECT_EQ(response.content_type, "text/plain; charset=utf-8") << target;
    EXPECT_EQ(body_of(response), "404 page not found\n") << target;
  }
  for (const char* target : {"/apis/custom.metrics.k8s.io/v1", "/apis/external.metrics.k8s.io",
                             "/apis/external.metrics.k8s.io/v1beta1/namespaces/d/m"}) {
    const auto response = server.get(target);
    EXPECT_EQ(response.status, 404) << target;
    EXPECT_EQ(message_of(response), "the server could not find the requested resource") << target;
  }
}

TEST(ApiServer, OnlyGetAndHeadAreAllowed) {
  TestServer server;
  server.provider.answer = two_pods;
  const std::string path = kV2 + "/namespaces/ns1/pods/%2A/requests_running";
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    for (const std::string& target :
         {path, kV2, std::string("/apis"), std::string("/version"), std::string("/metrics")}) {
      const auto response = server.request(method, target);
      EXPECT_EQ(response.status, 405) << method << target;
      EXPECT_EQ(header_of(response, "Allow"), "GET, HEAD");
      EXPECT_EQ(Json::parse(body_of(response)).at("details"), Json::object());
    }
    EXPECT_EQ(server.request(method, "/nosuch").status, 404) << method;
  }
  EXPECT_EQ(server.request("HEAD", path).status, 200);
}

TEST(ApiServer, UpgradesAreRefused) {
  TestServer server;
  for (const net::Headers& headers :
       {net::Headers{{"Connection", "Upgrade"}, {"Upgrade", "websocket"}},
        net::Headers{{"Connection", "keep-alive, Upgrade"}}}) {
    EXPECT_EQ(server.get(kV2, headers).status, 400);
  }
  EXPECT_EQ(server.get(kV2, {{"Connection", "keep-alive"}}).status, 200);
}

TEST(ApiServer, UnprivilegedUsersGet403WhateverThePath) {
  TestServer server;
  const std::string metric = kV1 + "/namespaces/default/pods/%2A/vllm_queue";
  net::ServerRequest anonymous;
  anonymous.method = "GET";
  anonymous.target = metric;
  const auto response = server.send(anonymous);
  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(header_of(response, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(
      body_of(response),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods.custom.metrics.k8s.io \"*\" is forbidden: User \"system:anonymous\" cannot get resource \"pods/vllm_queue\" in API group \"custom.metrics.k8s.io\" in the namespace \"default\"","reason":"Forbidden","details":{"name":"*","group":"custom.metrics.k8s.io","kind":"pods"},"code":403})"
      "\n");
  EXPECT_TRUE(server.provider.queries.empty());
  for (const char* target : {"/", "/metrics", "/nosuch", "/apis", "/openapi/v2", "/readyz/ping"}) {
    EXPECT_EQ(server.get_as("u", target).status, 403) << target;
  }
  for (const char* target : {"/healthz", "/livez", "/readyz"})
    EXPECT_EQ(server.get_as("u", target).status, 200);
  EXPECT_EQ(server.get_as("<b>", "/x").status, 403);
}

TEST(ApiServer, ForgedIdentitiesAreNotTaken) {
  TestServer server;
  net::ServerRequest forged;
  forged.method = "GET";
  forged.target = "/metrics";
  forged.headers = {{"X-Remote-User", "admin"}, {"X-Remote-Group", "system:masters"}};
  const auto plain = server.send(forged);
  EXPECT_EQ(plain.status, 403);
  EXPECT_THAT(message_of(plain), HasSubstr("User \"system:anonymous\""));
  for (const auto& review : server.kubernetes.access_reviews)
    EXPECT_EQ(review.find("masters"), std::string::npos);
  for (const net::KeyPair* pair : {&pki().stranger, &pki().wrong_name}) {
    forged.peer = peer_of(*pair);
    const auto refused = server.send(forged);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(message_of(refused), "Unauthorized");
  }
}

TEST(ApiServer, WithoutADecisionNothingIsServed) {
  TestServer server;
  server.kubernetes.outage = Error(Code::kUnavailable, "connection refused");
  const std::string target = kV2 + "/namespaces/d/pods/%2A/m?x=%22";
  const auto response = server.get_as("u", target);
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.content_type, "text/plain; charset=utf-8");
  EXPECT_THAT(body_of(response), HasSubstr("Internal Server Error: \"" + target + "\": "));
  EXPECT_THAT(body_of(response), HasSubstr("connection refused"));
  EXPECT_TRUE(server.provider.queries.empty());
  EXPECT_EQ(server.get(kV2).status, 200);  // what the aggregator asks needs no review
}

TEST(ApiServer, EveryAnswerCarriesAuditIdAndCacheControl) {
  TestServer server;
  const std::string id = "00000000-0000-4000-8000-000000000001";
  EXPECT_EQ(header_of(server.get(kV2, {{"Audit-Id", id}}), "Audit-Id"), id);
  for (const std::string& bad :
       {std::string("a b"), std::string("a\"b"), std::string(65, 'a'), std::string()}) {
    const std::string made = header_of(server.get("/nosuch", {{"Audit-Id", bad}}), "Audit-Id");
    EXPECT_EQ(made.size(), 36u) << bad;
    EXPECT_NE(made, bad);
  }
  for (const char* target : {"/nosuch", "/apis", "/metrics", "/%zz"}) {
    EXPECT_EQ(header_of(server.get(target), "Cache-Control"), "no-cache, private") << target;
  }
  EXPECT_EQ(header_of(ApiServer::on_error(431, "too large"), "Cache-Control"), "no-cache, private");
}

TEST(ApiServer, DocumentsHaveTagsThatAreKnownAgain) {
  TestServer server(with_external());
  const std::string aggregated =
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  for (const auto& [target, accept] : std::vector<std::pair<std::string, std::string>>{
           {"/apis", aggregated},
           {"/apis", "application/json"},
           {kV2, "application/json"},
           {"/openapi/v2", "application/json"},
           {"/openapi/v3", ""},
           {"/openapi/v3/apis/custom.metrics.k8s.io/v1beta1?hash=OLD", "application/json"}}) {
    SCOPED_TRACE(target + ' ' + accept);
    const auto first = server.get(target, {{"Accept", accept}});
    EXPECT_EQ(first.status, 200);
    const std::string tag = header_of(first, "ETag");
    ASSERT_GT(tag.size(), 2u);
    EXPECT_EQ(header_of(first, "Vary"), "Accept");
    const auto again = server.get(target, {{"Accept", accept}, {"If-None-Match", tag}});
    EXPECT_EQ(again.status, 304);
    EXPECT_EQ(again.body, nullptr);
    EXPECT_EQ(header_of(again, "ETag"), tag);
    EXPECT_EQ(server.get(target, {{"Accept", accept}, {"If-None-Match", "\"ETAG\""}}).status, 200);
  }
  EXPECT_EQ(server.get("/apis", {{"Accept", aggregated}}).content_type, aggregated);
}

TEST(ApiServer, B17OpenApiIsQuietWhateverIsAsked) {
  TestServer server;
  const std::string protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  for (const char* target : {"/openapi/v2", "/openapi/v3"}) {
    const auto preferred = server.get(
        target, {{"Accept", protobuf + ",application/json;q=0.5"}, {"Accept-Encoding", "gzip"}});
    EXPECT_EQ(preferred.status, 200);
    EXPECT_EQ(preferred.content_type, "application/json");
    EXPECT_EQ(server.get(target, {{"Accept", protobuf}}).status, 404);
  }
}

TEST(ApiServer, TheAggregatorsUsersWithoutGroupsAreLetIn) {
  TestServer server;
  server.kubernetes.allow = [](const std::string& spec) {
    return Json::parse(spec).value("groups", Json::array()) ==
           Json::array({"system:authenticated"});
  };
  EXPECT_EQ(server.get_as("system:aggregator", "/openapi/v2").status, 200);
  EXPECT_EQ(server.get_as("system:kube-aggregator", kV2).status, 200);
}

TEST(ApiServer, PeopleGetIndentedAnswers) {
  TestServer server;
  server.provider.answer = two_pods;
  const std::string target = kV2 + "/namespaces/ns1/pods/%2A/requests_running";
  const auto pretty = server.get(target + "?pretty=true");
  EXPECT_THAT(body_of(pretty), HasSubstr("{\n  \"kind\": \"MetricValueList\",\n"));
  EXPECT_EQ(Json::parse(body_of(pretty)), Json::parse(body_of(server.get(target))));
  EXPECT_EQ(body_of(server.get(target, {{"User-Agent", "curl/7.88.1"}})), body_of(pretty));
  EXPECT_THAT(body_of(server.get("/nosuch/x", {{"User-Agent", "curl/8"}})), HasSubstr("404"));
  const auto document = server.get(kV2 + "?pretty=1");
  EXPECT_EQ(header_of(document, "ETag"), "");  // the tag is of the compact form
}

TEST(ApiServer, WhatCannotBeAcceptedIs406ForMetricsAndDiscovery) {
  TestServer server;
  for (const std::string& target : {kV2 + "/namespaces/d/pods/%2A/m", kV2, std::string("/apis")}) {
    const auto response = server.get(target, {{"Accept", "text/html"}});
    EXPECT_EQ(response.status, 406) << target;
    EXPECT_EQ(Json::parse(body_of(response)).at("reason"), "NotAcceptable");
  }
}

TEST(ApiServer, VersionAndIndexAreReadable) {
  ApiServer::Options options;
  options.version.git_version = "v9.9.9";
  TestServer server(std::move(options));
  EXPECT_EQ(Json::parse(body_of(server.get("/version"))).at("gitVersion"), "v9.9.9");
  EXPECT_THAT(body_of(server.get("/version", {{"User-Agent", "curl/8"}})),
              HasSubstr("{\n  \"major\""));
  const Json paths = Json::parse(body_of(server.get("/"))).at("paths");
  EXPECT_THAT(paths.dump(), HasSubstr("/apis/custom.metrics.k8s.io/v1beta2"));
}

TEST(ApiServer, HealthFollowsTheChecks) {
  bool ready = false;
  ApiServer::Options options;
  options.ready.push_back({"pods-synced", [&] {
                             return ready ? Status() : Status(Error(Code::kUnavailable, "not yet"));
                           }});
  TestServer server(std::move(options));
  EXPECT_EQ(server.get("/readyz").status, 500);
  EXPECT_EQ(server.get("/livez").status, 200);
  EXPECT_EQ(server.get("/readyz/pods-synced").status, 500);
  ready = true;
  const auto response = server.get("/readyz?verbose");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(body_of(response), "[+]ping ok\n[+]pods-synced ok\nreadyz check passed\n");
  EXPECT_EQ(response.content_type, "text/plain; charset=utf-8");
}

TEST(ApiServer, TheMetricsPageCountsRequestsAndTakesOtherFamilies) {
  ApiServer::Options options;
  options.metrics.push_back(
      [](MetricsPage& page) { page.gauge("loadline_test_level", "A level.", 7); });
  TestServer server(std::move(options));
  server.get(kV2);
  server.get("/nosuch");
  const auto response = server.get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  const std::string page = body_of(response);
  EXPECT_THAT(
      page,
      HasSubstr("loadline_apiserver_requests_total{route=\"group_version\",code=\"200\"} 1\n"));
  EXPECT_THAT(page,
              HasSubstr("loadline_apiserver_requests_total{route=\"unknown\",code=\"404\"} 1\n"));
  EXPECT_THAT(
      page,
      HasSubstr("loadline_apiserver_request_duration_seconds_count{route=\"group_version\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("loadline_test_level 7\n"));
}

}  // namespace
}  // namespace loadline::apiserver
