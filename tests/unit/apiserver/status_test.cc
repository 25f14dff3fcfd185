#include "apiserver/status.h"

#include <gtest/gtest.h>

namespace loadline::apiserver {
namespace {

kube::AccessAttributes pod_metric_attributes() {
  kube::AccessAttributes a;
  a.verb = "get";
  a.resource_request = true;
  a.namespace_name = "default";
  a.group = "custom.metrics.k8s.io";
  a.version = "v1beta1";
  a.resource = "pods";
  a.subresource = "m";
  a.name = "*";
  return a;
}

TEST(Status, MembersStandInTheOrderOfGosEncoder) {
  EXPECT_EQ(
      status_json(
          status_of(Error(Code::kNotFound, "the server could not find the metric nope for pods"))),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the metric nope for pods","reason":"NotFound","code":404})"
      "\n");
  EXPECT_EQ(
      status_json(unauthorized_status()),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401})"
      "\n");
  EXPECT_EQ(
      status_json(method_not_allowed_status()),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405})"
      "\n");
}

TEST(Status, ForbiddenNamesWhoMayNotDoWhat) {
  EXPECT_EQ(
      status_json(forbidden_status("u", pod_metric_attributes(), "")),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods.custom.metrics.k8s.io \"*\" is forbidden: User \"u\" cannot get resource \"pods/m\" in API group \"custom.metrics.k8s.io\" in the namespace \"default\"","reason":"Forbidden","details":{"name":"*","group":"custom.metrics.k8s.io","kind":"pods"},"code":403})"
      "\n");
  kube::AccessAttributes external;
  external.verb = "list";
  external.resource_request = true;
  external.group = "external.metrics.k8s.io";
  external.resource = "queue";
  EXPECT_EQ(
      forbidden_status("u", external, "no rule").message,
      R"(queue.external.metrics.k8s.io is forbidden: User "u" cannot list resource "queue" in API group "external.metrics.k8s.io" at the cluster scope: no rule)");
  kube::AccessAttributes path;
  path.verb = "get";
  path.path = "/metrics";
  EXPECT_EQ(
      status_json(forbidden_status("u", path, "")),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"u\" cannot get path \"/metrics\"","reason":"Forbidden","details":{},"code":403})"
      "\n");
}

TEST(Status, MarkupInForbiddenMessagesIsEscaped) {
  kube::AccessAttributes path;
  path.verb = "get";
  path.path = "/<b>&\"";
  EXPECT_EQ(forbidden_status("<script>", path, "").message,
            R"(forbidden: User "&lt;script&gt;" cannot get path "/&lt;b&gt;&amp;\"")");
}

TEST(Status, EveryCodeHasItsHttpStatusAndReason) {
  const auto f = [](Code code, int http, std::string_view reason) {
    EXPECT_EQ(http_status(code), http);
    EXPECT_EQ(status_reason(code), reason);
  };
  f(Code::kBadRequest, 400, "BadRequest");
  f(Code::kUnauthorized, 401, "Unauthorized");
  f(Code::kForbidden, 403, "Forbidden");
  f(Code::kNotFound, 404, "NotFound");
  f(Code::kMethodNotAllowed, 405, "MethodNotAllowed");
  f(Code::kNotAcceptable, 406, "NotAcceptable");
  f(Code::kConflict, 409, "Conflict");
  f(Code::kExpired, 410, "Expired");
  f(Code::kTooLarge, 413, "RequestEntityTooLarge");
  f(Code::kTooManyRequests, 429, "TooManyRequests");
  f(Code::kInternal, 500, "InternalError");
  f(Code::kUnavailable, 503, "ServiceUnavailable");
  f(Code::kTimeout, 504, "Timeout");
}

}  // namespace
}  // namespace loadline::apiserver
