#include "apiserver/authorizer.h"

#include "apiserver/request_info.h"
#include "tests/unit/apiserver/api_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::apiserver {
namespace {

class AuthorizerTest : public ::testing::Test {
 protected:
  Result<kube::AccessDecision> ask(const std::string& target,
                                   std::vector<std::string> groups = {"g"}) {
    kube::UserInfo user;
    user.name = "u";
    user.groups = std::move(groups);
    kube::AccessAttributes attributes = parse_request("GET", target)->attributes;
    return run_to_end(authorizer_.authorize(std::move(user), std::move(attributes)));
  }

  ManualClock clock_;
  FakeKubernetes kubernetes_;
  DelegatedAuthorizer authorizer_{&kubernetes_, clock_, DelegatedAuthorizer::Options()};
};

const std::string kMetric = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/d/pods/%2A/m";

TEST_F(AuthorizerTest, MastersAndOpenPathsNeedNoReview) {
  EXPECT_TRUE(ask(kMetric, {"system:masters"})->allowed);
  for (const char* path : {"/healthz", "/livez", "/readyz"})
    EXPECT_TRUE(ask(path)->allowed) << path;
  EXPECT_TRUE(kubernetes_.access_reviews.empty());
}

TEST_F(AuthorizerTest, WithNobodyToAskOnlyMastersAndOpenPathsMay) {
  DelegatedAuthorizer alone(nullptr, clock_, DelegatedAuthorizer::Options());
  kube::AccessAttributes metric = parse_request("GET", kMetric)->attributes;
  kube::UserInfo user;
  user.name = "u";
  const auto denied = run_to_end(alone.authorize(user, metric));
  EXPECT_FALSE(denied->allowed);
  EXPECT_FALSE(denied->reason.empty());
  EXPECT_TRUE(
      run_to_end(alone.authorize(user, parse_request("GET", "/readyz")->attributes))->allowed);
  user.groups = {"system:masters"};
  EXPECT_TRUE(run_to_end(alone.authorize(user, metric))->allowed);
}

TEST_F(AuthorizerTest, OpenPathsAreExact) {
  for (const char* path :
       {"/healthz/", "/livez/ping", "//healthz", "/healthz/../metrics", "/metrics", "/HEALTHZ"}) {
    EXPECT_FALSE(ask(path)->allowed) << path;
  }
}

TEST_F(AuthorizerTest, OpenPathsMayEndInAStar) {
  DelegatedAuthorizer::Options options;
  options.open_paths = {"/livez*"};
  DelegatedAuthorizer open(&kubernetes_, clock_, options);
  kube::AccessAttributes attributes = parse_request("GET", "/livez/ping")->attributes;
  kube::UserInfo user;
  EXPECT_TRUE(run_to_end(open.authorize(user, attributes))->allowed);
}

TEST_F(AuthorizerTest, TheReviewSaysWhoAndWhat) {
  kubernetes_.allow = [](const std::string&) { return true; };
  EXPECT_TRUE(ask(kMetric)->allowed);
  ASSERT_EQ(kubernetes_.access_reviews.size(), 1u);
  const auto spec = nlohmann::json::parse(kubernetes_.access_reviews[0]).at("spec");
  EXPECT_EQ(spec.at("user"), "u");
  EXPECT_EQ(
      spec.at("resourceAttributes").dump(),
      R"({"group":"custom.metrics.k8s.io","name":"*","namespace":"d","resource":"pods","subresource":"m","verb":"get","version":"v1beta1"})");
}

TEST_F(AuthorizerTest, DecisionsAreKeptForTheirTtl) {
  bool allowed = true;
  kubernetes_.allow = [&](const std::string&) { return allowed; };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ask(kMetric)->allowed);
  EXPECT_EQ(kubernetes_.access_reviews.size(), 1u);
  allowed = false;
  clock_.advance(std::chrono::milliseconds(9'999));
  EXPECT_TRUE(ask(kMetric)->allowed);
  clock_.advance(std::chrono::milliseconds(1));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask(kMetric)->allowed);
  EXPECT_EQ(kubernetes_.access_reviews.size(), 2u);
  EXPECT_FALSE(ask(kMetric, {"other"})->allowed);  // another user is another question
  EXPECT_EQ(kubernetes_.access_reviews.size(), 3u);
}

TEST_F(AuthorizerTest, NoTwoQuestionsShareADecision) {
  const auto review = [&](const std::string& name, std::vector<std::string> groups,
                          std::map<std::string, std::vector<std::string>> extra,
                          const std::string& target) {
    kube::UserInfo user;
    user.name = name;
    user.groups = std::move(groups);
    user.extra = std::move(extra);
    kube::AccessAttributes attributes = parse_request("GET", target)->attributes;
    EXPECT_TRUE(
        run_to_end(authorizer_.authorize(std::move(user), std::move(attributes))).has_value());
  };
  for (int round = 0; round < 2; ++round) {
    review("a", {"b"}, {}, kMetric);
    review("a", {}, {}, kMetric);
    review("a1:b", {}, {}, kMetric);
    review("a", {"b", "c"}, {}, kMetric);
    review("a", {"b1:c"}, {}, kMetric);
    review("a", {"b"}, {{"k", {"v"}}}, kMetric);
    review("a", {"b"}, {{"k", {}}, {"v", {}}}, kMetric);
    review("a", {"b"}, {}, kMetric + "x");
    review("a", {"b"}, {}, "/apis/custom.metrics.k8s.io/v1beta2/namespaces/d/pods/%2A/m");
    review("a", {"b"}, {}, "/apis");
  }
  EXPECT_EQ(kubernetes_.access_reviews.size(), 10u);
}

TEST_F(AuthorizerTest, LongRequestsAreNotKept) {
  const std::string target = kMetric + std::string(10'000, 'x');
  EXPECT_FALSE(ask(target)->allowed);
  EXPECT_FALSE(ask(target)->allowed);
  EXPECT_EQ(kubernetes_.access_reviews.size(), 2u);
}

TEST_F(AuthorizerTest, AnOutageIsNoDecisionAndIsNotKept) {
  kubernetes_.outage = Error(Code::kUnavailable, "connection refused");
  const auto decision = ask(kMetric);
  ASSERT_FALSE(decision.has_value());
  EXPECT_NE(decision.error().message.find("connection refused"), std::string::npos);
  kubernetes_.outage.reset();
  kubernetes_.allow = [](const std::string&) { return true; };
  EXPECT_TRUE(ask(kMetric)->allowed);
}

TEST(AllowAll, AllowsEverything) {
  AllowAll authorizer;
  kube::UserInfo user;
  kube::AccessAttributes attributes;
  EXPECT_TRUE(run_to_end(authorizer.authorize(user, attributes))->allowed);
}

}  // namespace
}  // namespace loadline::apiserver
