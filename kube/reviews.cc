#include "kube/reviews.h"

#include "kube/bearer_token.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace loadline::kube {

namespace asio = boost::asio;
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

namespace {

constexpr const char* kTokenReviewPath = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviewPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr std::size_t kMostAnswerBytes = 1u << 20;
constexpr std::size_t kMostWordsBytes = 300;

// Words of the API server, cut to a length that suits a log line.
std::string words(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>().substr(0, kMostWordsBytes)
                                               : "";
}

std::string status_message(const std::string& body) {
  const Json status = Json::parse(body.substr(0, kMostAnswerBytes), nullptr, false);
  const std::string message = status.is_object() ? words(status, "message") : "";
  return message.empty() ? "" : ": " + message;
}

// There was no verdict. Never kUnauthorized nor kForbidden: those would be read as one about the
// user.
Error no_verdict(const std::string& what, const ApiResponse& response) {
  const std::string message = status_message(response.body);
  switch (response.status) {
    case 401:
      return Error(
          Code::kInternal,
          fmt::format("{}: the Kubernetes API refuses our own credentials (401){}: renew the "
                      "service account token or the kubeconfig",
                      what, message));
    case 403:
      return Error(
          Code::kInternal,
          fmt::format("{}: our account may not ask (403){}: bind it with a ClusterRoleBinding to "
                      "the ClusterRole system:auth-delegator",
                      what, message));
    case 429:
    case 502:
    case 503:
      return Error(Code::kUnavailable,
                   fmt::format("{}: HTTP {}{}", what, response.status, message));
    case 504:
      return Error(Code::kTimeout, fmt::format("{}: HTTP 504{}", what, message));
    default:
      return Error(Code::kInternal, fmt::format("{}: HTTP {}{}", what, response.status, message));
  }
}

// Of the transport, which may speak of our own credentials.
Error without_verdict(const std::string& what, Error error) {
  if (error.code == Code::kUnauthorized || error.code == Code::kForbidden)
    error.code = Code::kInternal;
  return with_context(what, std::move(error));
}

Error odd_answer(const std::string& kind, const std::string& why) {
  return Error(Code::kInternal, fmt::format("the Kubernetes API's answer is no {}: {}", kind, why));
}

// The status object of a review of this kind.
Result<Json> review_status(const std::string& kind, const ApiResponse& response) {
  if (response.status != 201 && response.status != 200) return no_verdict(kind, response);
  if (response.body.size() > kMostAnswerBytes) return odd_answer(kind, "larger than 1 MiB");
  Json review = Json::parse(response.body, nullptr, false);
  if (!review.is_object()) return odd_answer(kind, "not a JSON object");
  if (words(review, "kind") != kind) return odd_answer(kind, "another kind");
  const auto status = review.find("status");
  if (status == review.end() || !status->is_object()) return odd_answer(kind, "without status");
  return std::move(*status);
}

// An absent member is false; nullopt: it is there and no boolean.
std::optional<bool> flag(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return false;
  return it->is_boolean() ? std::optional(it->get<bool>()) : std::nullopt;
}

std::optional<std::string> text(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return std::string();
  return it->is_string() ? std::optional(it->get<std::string>()) : std::nullopt;
}

std::optional<std::vector<std::string>> text_list(const Json& list) {
  std::vector<std::string> texts;
  if (list.is_null()) return texts;
  if (!list.is_array()) return std::nullopt;
  for (const Json& item : list) {
    if (!item.is_string()) return std::nullopt;
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<UserInfo> parse_user(const Json& status) {
  static const std::string kKind = "TokenReview";
  const auto user = status.find("user");
  if (user == status.end() || !user->is_object())
    return odd_answer(kKind, "authenticated, but no user");
  auto name = text(*user, "username");
  auto uid = text(*user, "uid");
  auto groups = text_list(user->value("groups", Json()));
  if (!name || name->empty())
    return odd_answer(kKind, "authenticated, but user.username is missing");
  if (!uid) return odd_answer(kKind, "user.uid is no string");
  if (!groups) return odd_answer(kKind, "user.groups is no list of strings");
  UserInfo info;
  info.name = std::move(*name);
  info.uid = std::move(*uid);
  info.groups = std::move(*groups);
  const Json extra = user->value("extra", Json());
  if (!extra.is_object() && !extra.is_null()) return odd_answer(kKind, "user.extra is no object");
  for (const auto& [key, list] : extra.items()) {
    auto values = text_list(list);
    if (!values) return odd_answer(kKind, "user.extra holds something other than lists of strings");
    info.extra.emplace(key, std::move(*values));
  }
  return info;
}

void add(OrderedJson& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

}  // namespace

asio::awaitable<Result<UserInfo>> review_token(Transport& transport, std::string token) {
  // What cannot be a token need not be asked about (nor survives JSON unchanged).
  if (!is_token(token)) {
    co_return Error(Code::kUnauthorized,
                    "the bearer token is empty, too long or has illegal characters");
  }
  OrderedJson review;
  review["apiVersion"] = "authentication.k8s.io/v1";
  review["kind"] = "TokenReview";
  review["spec"]["token"] = std::move(token);
  std::string body = review.dump();
  std::string path = kTokenReviewPath;
  std::string accept = "application/json";
  std::string method = "POST";
  auto response = co_await transport.request(std::move(method), std::move(path), std::move(accept),
                                             std::move(body));
  if (!response) co_return without_verdict("TokenReview", std::move(response).error());
  const auto status = review_status("TokenReview", *response);
  if (!status) co_return status.error();
  const auto authenticated = flag(*status, "authenticated");
  if (!authenticated) co_return odd_answer("TokenReview", "status.authenticated is no boolean");
  if (!*authenticated) {
    const std::string why = words(*status, "error");
    co_return Error(Code::kUnauthorized, why.empty() ? "the bearer token is not valid" : why);
  }
  co_return parse_user(*status);
}

std::string subject_access_review_json(const UserInfo& user, const AccessAttributes& attributes) {
  OrderedJson spec = OrderedJson::object();
  add(spec, "user", user.name);
  add(spec, "uid", user.uid);
  if (!user.groups.empty()) spec["groups"] = user.groups;
  if (!user.extra.empty()) spec["extra"] = user.extra;
  OrderedJson wish = OrderedJson::object();
  if (attributes.resource_request) {
    add(wish, "namespace", attributes.namespace_name);
    add(wish, "verb", attributes.verb);
    add(wish, "group", attributes.group);
    add(wish, "version", attributes.version);
    add(wish, "resource", attributes.resource);
    add(wish, "subresource", attributes.subresource);
    add(wish, "name", attributes.name);
    spec["resourceAttributes"] = std::move(wish);
  } else {
    add(wish, "path", attributes.path);
    add(wish, "verb", attributes.verb);
    spec["nonResourceAttributes"] = std::move(wish);
  }
  OrderedJson review;
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = "SubjectAccessReview";
  review["spec"] = std::move(spec);
  // Header values may be no UTF-8; Kubernetes replaces such bytes too, so that both ask about the
  // same name.
  return review.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

asio::awaitable<Result<AccessDecision>> review_access(Transport& transport,
                                                      std::string review_json) {
  std::string path = kAccessReviewPath;
  std::string accept = "application/json";
  std::string method = "POST";
  auto response = co_await transport.request(std::move(method), std::move(path), std::move(accept),
                                             std::move(review_json));
  if (!response) co_return without_verdict("SubjectAccessReview", std::move(response).error());
  const auto status = review_status("SubjectAccessReview", *response);
  if (!status) co_return status.error();
  const auto allowed = flag(*status, "allowed");
  const auto denied = flag(*status, "denied");
  auto reason = text(*status, "reason");
  if (!status->contains("allowed") || !allowed || !denied || !reason) {
    co_return odd_answer("SubjectAccessReview",
                         "status.allowed, denied or reason is missing or of a wrong type");
  }
  AccessDecision decision;
  decision.allowed = *allowed && !*denied;
  decision.reason = std::move(*reason);
  co_return decision;
}

}  // namespace loadline::kube
