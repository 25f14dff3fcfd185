#include "tests/unit/apiserver/api_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace loadline::apiserver {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// The cluster's default roles, as far as these requests need them.
bool default_roles(const std::string& text) {
  const Json spec = Json::parse(text);
  const std::string groups = spec.value("groups", Json::array()).dump();
  if (spec.contains("nonResourceAttributes")) {
    const std::string path = spec.at("nonResourceAttributes").at("path");
    const bool discovery = path.starts_with("/apis") || path.starts_with("/openapi");
    return discovery && groups.find("\"system:authenticated\"") != std::string::npos;
  }
  return spec.at("user") == "system:serviceaccount:kube-system:horizontal-pod-autoscaler";
}

class CapturedRequestsTest : public ::testing::Test {
 protected:
  CapturedRequestsTest() {
    server_.kubernetes.allow = default_roles;
    server_.provider.answer = [](const provider::PodMetricQuery&) {
      return FakeProvider::Answer(
          std::vector<provider::PodMetricItem>{item("p-0", 1, 1'767'319'445)});
    };
    for (auto& [name, request] : captured_requests()) requests_.emplace(name, std::move(request));
  }
  net::ServerResponse replay(const std::string& name) {
    net::ServerRequest request = requests_.at(name);
    request.peer = peer_of(pki().proxy);
    return server_.send(std::move(request));
  }

  static ApiServer::Options options() {
    ApiServer::Options made;
    made.catalogue.external_enabled = true;
    return made;
  }
  TestServer server_{options()};
  std::map<std::string, net::ServerRequest> requests_;
};

TEST_F(CapturedRequestsTest, AllOfThemAreKnown) { EXPECT_EQ(requests_.size(), 8u); }

TEST_F(CapturedRequestsTest, TheHpasProtobufWishIsAnsweredInJson) {
  net::ServerRequest& request = requests_.at("hpa-pods");
  const auto selected = replay("hpa-pods");
  EXPECT_EQ(selected.status, 404);  // it selects on a label that metrics of pods do not have
  EXPECT_THAT(body_of(selected), HasSubstr("with selector a=1"));
  const std::size_t selector = request.target.find("&metricLabelSelector");
  request.target.resize(selector);
  const auto response = replay("hpa-pods");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(Json::parse(body_of(response)).at("items").size(), 1u);
  EXPECT_EQ(header_of(response, "Audit-Id"), "00000000-0000-4000-8000-000000000001");
  EXPECT_EQ(server_.provider.queries.back().pod, "*");
  EXPECT_EQ(server_.provider.queries.back().labels.to_string(), "app=pbp-full");

  const Json spec = Json::parse(server_.kubernetes.access_reviews.back()).at("spec");
  EXPECT_EQ(spec.at("groups"),
            Json::array({"system:serviceaccounts", "system:serviceaccounts:kube-system",
                         "system:authenticated"}));
  EXPECT_EQ(spec.at("extra").at("authentication.kubernetes.io/credential-id"),
            Json::array({"JTI=00000000-0000-4000-8000-000000000001"}));
}

TEST_F(CapturedRequestsTest, AnObjectMetricThatIsNotThereIsA404Status) {
  const auto response = replay("hpa-object-crd");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(Json::parse(body_of(response)).at("message"),
            "the server could not find the metric irm for inferencereplicas.ome.io ir1");
}

TEST_F(CapturedRequestsTest, TheAvailabilityCheckPassesWithoutAReview) {
  EXPECT_EQ(replay("availability").status, 200);
  EXPECT_TRUE(server_.kubernetes.access_reviews.empty());
}

TEST_F(CapturedRequestsTest, AggregatedDiscoveryGetsItsOwnForm) {
  const auto response = replay("aggregated-discovery");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
}

TEST_F(CapturedRequestsTest, TheAggregatorsUserReadsOpenApi) {
  EXPECT_EQ(replay("openapi-v2").status, 200);
  EXPECT_EQ(replay("openapi-v3").status, 200);
}

TEST_F(CapturedRequestsTest, AnonymousUsersOfTheApiServerAreAnonymousHere) {
  const auto response = replay("anonymous");
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(body_of(response), HasSubstr("User \\\"system:anonymous\\\""));
  EXPECT_THAT(body_of(response), HasSubstr("{\n  \"kind\": \"Status\""));  // curl asked
}

TEST_F(CapturedRequestsTest, KubectlFallsBackFromTablesToJson) {
  const auto response = replay("kubectl-get-external");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.content_type, "application/json");
}

}  // namespace
}  // namespace loadline::apiserver
