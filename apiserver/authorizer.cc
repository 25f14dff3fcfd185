#include "apiserver/authorizer.h"

#include "apiserver/digest.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace loadline::apiserver {

namespace asio = boost::asio;

namespace {

std::size_t requester_bytes(const kube::AccessAttributes& a) {
  return a.verb.size() + a.path.size() + a.namespace_name.size() + a.group.size() +
         a.version.size() + a.resource.size() + a.subresource.size() + a.name.size();
}

void append_field(std::string& key, std::string_view value) {
  key += std::to_string(value.size());
  key += ':';
  key += value;
}

void append_fields(std::string& key, const std::vector<std::string>& values) {
  key += std::to_string(values.size());
  key += '[';
  for (const std::string& value : values) append_field(key, value);
}

// Of everything that the review says: two questions never share a key. Made without the review's
// JSON, which costs several times as much as the rest of a request that is known.
std::string cache_key(const kube::UserInfo& user, const kube::AccessAttributes& a) {
  std::string key(a.resource_request ? "r" : "p");
  key.reserve(512);
  for (const std::string* value : {&user.name, &user.uid, &a.verb, &a.path, &a.namespace_name,
                                   &a.group, &a.version, &a.resource, &a.subresource, &a.name}) {
    append_field(key, *value);
  }
  append_fields(key, user.groups);
  for (const auto& [name, values] : user.extra) {
    append_field(key, name);
    append_fields(key, values);
  }
  return sha256(key);
}

bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern.ends_with('*')) return path.starts_with(pattern.substr(0, pattern.size() - 1));
  return path == pattern;
}

}  // namespace

asio::awaitable<Result<kube::AccessDecision>> AllowAll::authorize(kube::UserInfo,
                                                                  kube::AccessAttributes) {
  kube::AccessDecision decision;
  decision.allowed = true;
  co_return decision;
}

DelegatedAuthorizer::DelegatedAuthorizer(kube::Transport* reviews, const Clock& clock,
                                         Options options)
    : reviews_(reviews),
      clock_(clock),
      options_(std::move(options)),
      cache_(options_.most_decisions) {}

bool DelegatedAuthorizer::is_open(const kube::AccessAttributes& attributes) const {
  if (attributes.resource_request) return false;
  return std::any_of(
      options_.open_paths.begin(), options_.open_paths.end(),
      [&](const std::string& pattern) { return path_matches(pattern, attributes.path); });
}

asio::awaitable<Result<kube::AccessDecision>> DelegatedAuthorizer::authorize(
    kube::UserInfo user, kube::AccessAttributes attributes) {
  kube::AccessDecision allowed;
  allowed.allowed = true;
  if (std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end()) {
    metrics_.privileged_total.add();
    co_return allowed;
  }
  if (is_open(attributes)) {
    metrics_.open_path_total.add();
    co_return allowed;
  }
  if (reviews_ == nullptr) {
    metrics_.denied_total.add();
    kube::AccessDecision denied;
    denied.reason = "only system:masters may, for there is no Kubernetes to review access";
    co_return denied;
  }
  std::string key = cache_key(user, attributes);
  if (const kube::AccessDecision* known = cache_.find(key, clock_.steady_now())) {
    metrics_.cache_hits_total.add();
    (known->allowed ? metrics_.allowed_total : metrics_.denied_total).add();
    co_return *known;
  }
  metrics_.reviews_total.add();
  std::string review = kube::subject_access_review_json(user, attributes);
  Result<kube::AccessDecision> decision =
      co_await kube::review_access(*reviews_, std::move(review));
  if (!decision) {
    metrics_.errors_total.add();
    co_return with_context("subject access review", decision.error());
  }
  (decision->allowed ? metrics_.allowed_total : metrics_.denied_total).add();
  if (requester_bytes(attributes) < options_.most_cached_bytes) {
    const auto ttl = decision->allowed ? options_.allowed_ttl : options_.denied_ttl;
    cache_.put(std::move(key), *decision, clock_.steady_now() + ttl);
  }
  co_return decision;
}

}  // namespace loadline::apiserver
