#include "kube/reviews.h"

#include "base/file.h"
#include "tests/unit/kube/scripted_transport.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loadline::kube {
namespace {

using Json = nlohmann::json;

Result<UserInfo> ask_token(ScriptedTransport& transport, std::string token = "abc.def") {
  return run_to_end<Result<UserInfo>>(review_token(transport, std::move(token)));
}

Result<AccessDecision> ask_access(ScriptedTransport& transport) {
  return run_to_end<Result<AccessDecision>>(review_access(transport, "{}"));
}

Result<UserInfo> token_answer(int status, const std::string& body) {
  ScriptedTransport transport;
  transport.answer(status, body);
  return ask_token(transport);
}

Result<AccessDecision> access_answer(int status, const std::string& body) {
  ScriptedTransport transport;
  transport.answer(status, body);
  return ask_access(transport);
}

constexpr const char* kServiceAccount =
    R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1",
  "metadata":{},"spec":{"token":"abc.def"},"status":{"authenticated":true,"user":{
  "username":"system:serviceaccount:ns:name","uid":"u-1",
  "groups":["system:serviceaccounts","system:serviceaccounts:ns","system:authenticated"],
  "extra":{"authentication.kubernetes.io/credential-id":["JTI=1"]}},"audiences":["https://x"]}})";

TEST(TokenReview, PostsTheTokenAndReturnsTheUser) {
  ScriptedTransport transport;
  transport.answer(201, kServiceAccount);
  const auto user = ask_token(transport);
  ASSERT_TRUE(user) << user.error().message;
  EXPECT_EQ(user->name, "system:serviceaccount:ns:name");
  EXPECT_EQ(user->uid, "u-1");
  EXPECT_EQ(user->groups.size(), 3U);
  EXPECT_EQ(user->extra.at("authentication.kubernetes.io/credential-id"),
            (std::vector<std::string>{"JTI=1"}));
  ASSERT_EQ(transport.requests().size(), 1U);
  EXPECT_EQ(transport.requests()[0].method, "POST");
  EXPECT_EQ(transport.requests()[0].path, "/apis/authentication.k8s.io/v1/tokenreviews");
  EXPECT_EQ(
      transport.requests()[0].body,
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"abc.def"}})");
}

TEST(TokenReview, AnInvalidTokenIsUnauthorizedInTheWordsOfTheApi) {
  const auto user = token_answer(
      201, R"({"kind":"TokenReview","status":{"user":{},"error":"invalid bearer token"}})");
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().code, Code::kUnauthorized);
  EXPECT_EQ(user.error().message, "invalid bearer token");
  EXPECT_EQ(
      token_answer(201, R"({"kind":"TokenReview","status":{"authenticated":false}})").error().code,
      Code::kUnauthorized);
}

TEST(TokenReview, WhatCannotBeATokenIsNotAskedAbout) {
  ScriptedTransport transport;
  for (const std::string& token : {std::string(), std::string("a b"), std::string("a\xff"),
                                   std::string("a\n"), std::string(100'000, 'x')}) {
    const auto user = ask_token(transport, token);
    ASSERT_FALSE(user);
    EXPECT_EQ(user.error().code, Code::kUnauthorized);
  }
  EXPECT_TRUE(transport.requests().empty());
}

// No verdict must never look like one.
TEST(TokenReview, EverythingElseIsNoVerdict) {
  const auto f = [](int status, const std::string& body, const std::string& words, int line) {
    const auto user = token_answer(status, body);
    ASSERT_FALSE(user) << "line " << line;
    EXPECT_NE(user.error().code, Code::kUnauthorized) << "line " << line;
    EXPECT_NE(user.error().code, Code::kForbidden) << "line " << line;
    EXPECT_NE(user.error().message.find(words), std::string::npos) << user.error().message;
  };
  f(401, R"({"kind":"Status","message":"Unauthorized"})", "own credentials", __LINE__);
  f(403, R"({"kind":"Status","message":"tokenreviews.authentication.k8s.io is forbidden"})",
    "system:auth-delegator", __LINE__);
  f(500, "", "HTTP 500", __LINE__);
  f(429, "<html>", "HTTP 429", __LINE__);
  f(302, "", "HTTP 302", __LINE__);
  f(201, "", "not a JSON object", __LINE__);
  f(201, "[]", "not a JSON object", __LINE__);
  f(201, R"({"status":{"authenticated":true,"user":{"username":"root"}}})", "another kind",
    __LINE__);
  f(201, R"({"kind":"Status","status":"Success"})", "another kind", __LINE__);
  f(201, R"({"kind":"TokenReview"})", "without status", __LINE__);
  f(201, R"({"kind":"TokenReview","status":[]})", "without status", __LINE__);
  f(201, R"({"kind":"TokenReview","status":{"authenticated":"true"}})", "no boolean", __LINE__);
  f(201, R"({"kind":"TokenReview","status":{"authenticated":true}})", "no user", __LINE__);
  f(201, R"({"kind":"TokenReview","status":{"authenticated":true,"user":{}}})", "username",
    __LINE__);
  f(201, R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":7}}})",
    "username", __LINE__);
  f(201,
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"a","groups":"b"}}})",
    "groups", __LINE__);
  f(201,
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"a","groups":[1]}}})",
    "groups", __LINE__);
  f(201,
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"a","uid":1}}})",
    "uid", __LINE__);
  f(201,
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"a","extra":{"k":"v"}}}})",
    "extra", __LINE__);
  f(201,
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"a","extra":[]}}})",
    "extra", __LINE__);
  f(201, std::string(2u << 20, ' '), "larger", __LINE__);
  f(201, std::string(500'000, '['), "not a JSON object", __LINE__);
}

TEST(TokenReview, AnOutageKeepsItsCode) {
  ScriptedTransport transport;
  transport.fail(Error(Code::kTimeout, "no answer"));
  EXPECT_EQ(ask_token(transport).error().code, Code::kTimeout);
  transport.fail(Error(Code::kUnauthorized, "odd"));
  EXPECT_EQ(ask_token(transport).error().code, Code::kInternal);
}

TEST(SubjectAccessReview, IsWrittenAsTheReferenceWritesIt) {
  UserInfo user;
  user.name = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";
  user.uid = "u-2";
  user.groups = {"system:serviceaccounts", "system:authenticated"};
  user.extra["scopes"] = {"a", "b"};
  AccessAttributes wish;
  wish.verb = "get";
  wish.resource_request = true;
  wish.namespace_name = "default";
  wish.group = "custom.metrics.k8s.io";
  wish.version = "v1beta1";
  wish.resource = "pods";
  wish.subresource = "http_requests";
  wish.name = "*";
  EXPECT_EQ(
      subject_access_review_json(user, wish),
      R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":)"
      R"({"user":"system:serviceaccount:kube-system:horizontal-pod-autoscaler","uid":"u-2",)"
      R"("groups":["system:serviceaccounts","system:authenticated"],"extra":{"scopes":["a","b"]},)"
      R"("resourceAttributes":{"namespace":"default","verb":"get","group":"custom.metrics.k8s.io",)"
      R"("version":"v1beta1","resource":"pods","subresource":"http_requests","name":"*"}}})");
}

TEST(SubjectAccessReview, LeavesOutWhatIsEmpty) {
  UserInfo user;
  user.name = "u";
  AccessAttributes wish;
  wish.verb = "get";
  wish.path = "/metrics";
  EXPECT_EQ(subject_access_review_json(user, wish),
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",)"
            R"("spec":{"user":"u","nonResourceAttributes":{"path":"/metrics","verb":"get"}}})");
}

TEST(SubjectAccessReview, AUserNameThatIsNoUtf8IsStillJson) {
  UserInfo user;
  user.name = "u\xff";
  const Json review =
      Json::parse(subject_access_review_json(user, AccessAttributes()), nullptr, false);
  EXPECT_EQ(review["spec"]["user"], "u\xEF\xBF\xBD");
}

TEST(SubjectAccessReview, B29AccessReviewsCarryTheAttributesOfTheApiServer) {
  const auto text =
      read_file(LOADLINE_SOURCE_DIR "/tests/testdata/kube/B29-access-reviews.expected.json");
  ASSERT_TRUE(text);
  UserInfo user;
  user.name = "u";
  int rows = 0;
  const Json table = Json::parse(*text);
  for (const Json& row : table.at("attributes")) {
    AccessAttributes wish;
    wish.verb = row.at("verb");
    wish.resource_request = row.contains("resource");
    wish.path = row.value("nonResourcePath", "");
    wish.namespace_name = row.value("namespace", "");
    wish.group = row.value("group", "");
    wish.version = row.value("version", "");
    wish.resource = row.value("resource", "");
    wish.subresource = row.value("subresource", "");
    wish.name = row.value("name", "");
    const Json spec = Json::parse(subject_access_review_json(user, wish)).at("spec");
    if (wish.resource_request) {
      Json want = row;
      for (const char* key : {"namespace", "name", "subresource"}) {
        if (want.at(key) == "") want.erase(key);
      }
      EXPECT_EQ(spec.at("resourceAttributes"), want);
      EXPECT_FALSE(spec.contains("nonResourceAttributes"));
    } else {
      EXPECT_EQ(spec.at("nonResourceAttributes"),
                (Json{{"path", row.at("nonResourcePath")}, {"verb", "get"}}));
      EXPECT_FALSE(spec.contains("resourceAttributes"));
    }
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

TEST(SubjectAccessReview, DecidesByAllowedAndNotDenied) {
  const auto f = [](const std::string& status, bool want, const std::string& reason, int line) {
    const auto decision =
        access_answer(201, R"({"kind":"SubjectAccessReview","status":)" + status + "}");
    ASSERT_TRUE(decision) << "line " << line << ": " << decision.error().message;
    EXPECT_EQ(decision->allowed, want) << "line " << line;
    EXPECT_EQ(decision->reason, reason) << "line " << line;
  };
  f(R"({"allowed":true,"reason":"RBAC: allowed"})", true, "RBAC: allowed", __LINE__);
  f(R"({"allowed":false})", false, "", __LINE__);
  f(R"({"allowed":true,"denied":true,"reason":"no"})", false, "no", __LINE__);
  f(R"({"allowed":false,"denied":true})", false, "", __LINE__);
  f(R"({"allowed":true,"evaluationError":"ignored"})", true, "", __LINE__);
}

TEST(SubjectAccessReview, AnOddAnswerIsAnErrorNotADecision) {
  const auto f = [](int status, const std::string& body, const std::string& words, int line) {
    const auto decision = access_answer(status, body);
    ASSERT_FALSE(decision) << "line " << line;
    EXPECT_EQ(decision.error().code, Code::kInternal) << "line " << line;
    EXPECT_NE(decision.error().message.find(words), std::string::npos) << decision.error().message;
  };
  f(201, R"({"kind":"SubjectAccessReview","status":{}})", "allowed", __LINE__);
  f(201, R"({"kind":"SubjectAccessReview","status":{"allowed":1}})", "allowed", __LINE__);
  f(201, R"({"kind":"SubjectAccessReview","status":{"allowed":null}})", "allowed", __LINE__);
  f(201, R"({"kind":"SubjectAccessReview","status":{"allowed":true,"denied":"no"}})", "denied",
    __LINE__);
  f(201, R"({"kind":"SubjectAccessReview","status":{"allowed":true,"reason":1}})", "reason",
    __LINE__);
  f(201, R"({"kind":"TokenReview","status":{"allowed":true}})", "another kind", __LINE__);
  f(201, "true", "not a JSON object", __LINE__);
  f(403, R"({"message":"subjectaccessreviews.authorization.k8s.io is forbidden"})",
    "ClusterRoleBinding", __LINE__);
  f(422, R"({"message":"at least one of user or group must be specified"})", "at least one",
    __LINE__);
  EXPECT_EQ(access_answer(503, "").error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace loadline::kube
