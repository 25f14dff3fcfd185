#include "apiserver/authenticator.h"

#include "apiserver/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace loadline::apiserver {

namespace asio = boost::asio;

namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// key is in lower case. What cannot be decoded stays as it is.
std::string unescape_extra_key(const std::string& key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] != '%') {
      out += key[i];
      continue;
    }
    const int high = i + 1 < key.size() ? hex_digit(key[i + 1]) : -1;
    const int low = i + 2 < key.size() ? hex_digit(key[i + 2]) : -1;
    if (high < 0 || low < 0) return key;
    out += static_cast<char>(16 * high + low);
    i += 2;
  }
  return out;
}

// The first value that is not empty, in the order of the configured names.
std::string first_value(const net::Headers& headers, const std::vector<std::string>& names) {
  for (const std::string& wanted : names) {
    const std::string* value = net::find_header(headers, wanted);
    if (value != nullptr && !value->empty()) return *value;
  }
  return {};
}

std::optional<kube::UserInfo> user_from_headers(const net::Headers& headers,
                                                const kube::AuthenticationConfig& config) {
  kube::UserInfo user;
  user.name = first_value(headers, config.username_headers);
  if (user.name.empty()) return std::nullopt;
  user.uid = first_value(headers, config.uid_headers);
  for (const std::string& wanted : config.group_headers) {
    for (const auto& [name, value] : headers) {
      if (!value.empty() && net::header_name_equals(name, wanted)) user.groups.push_back(value);
    }
  }
  for (const std::string& configured : config.extra_header_prefixes) {
    const std::string prefix = lower_case(configured);
    if (prefix.empty()) continue;  // every header would be an identity
    for (const auto& [name, value] : headers) {
      const std::string lower = lower_case(name);
      if (!lower.starts_with(prefix) || lower.size() == prefix.size()) continue;
      user.extra[unescape_extra_key(lower.substr(prefix.size()))].push_back(value);
    }
  }
  return user;
}

// The token of "Authorization: Bearer TOKEN"; nothing for other schemes.
std::optional<std::string> bearer_token(const net::Headers& headers) {
  const std::string* header = net::find_header(headers, "Authorization");
  if (header == nullptr) return std::nullopt;
  std::string_view rest = *header;
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const std::size_t blank = rest.find(' ');
  if (blank == std::string_view::npos || lower_case(rest.substr(0, blank)) != "bearer")
    return std::nullopt;
  rest.remove_prefix(blank + 1);
  const std::string_view token = rest.substr(0, rest.find(' '));
  if (token.empty()) return std::nullopt;
  return std::string(token);
}

bool has(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// kube-aggregator's own requests come without any group and are allowed only through this one.
kube::UserInfo with_authenticated_group(kube::UserInfo user) {
  const bool settled = user.name == "system:anonymous" ||
                       has(user.groups, "system:authenticated") ||
                       has(user.groups, "system:unauthenticated");
  if (!settled) user.groups.emplace_back("system:authenticated");
  return user;
}

// An address as a part of a cache key; both objects are kept alive by the entry.
std::string address_key(const void* a, const void* b) { return fmt::format("{}/{}", a, b); }

}  // namespace

Result<std::shared_ptr<const AuthenticationTrust>> make_authentication_trust(
    kube::AuthenticationConfig config) {
  auto trust = std::make_shared<AuthenticationTrust>();
  if (!config.requestheader_ca_pem.empty()) {
    auto verifier = net::ClientCertificateVerifier::create(config.requestheader_ca_pem);
    if (!verifier)
      return with_context("request-header CA bundle (requestheader-client-ca-file)",
                          verifier.error());
    trust->front_proxy_ca = std::move(*verifier);
  }
  if (!config.client_ca_pem.empty()) {
    auto verifier = net::ClientCertificateVerifier::create(config.client_ca_pem);
    if (!verifier) return with_context("client CA bundle (client-ca-file)", verifier.error());
    trust->client_ca = std::move(*verifier);
  }
  trust->config = std::move(config);
  trust->loaded = true;
  return std::shared_ptr<const AuthenticationTrust>(std::move(trust));
}

std::shared_ptr<const AuthenticationTrust> no_authentication_trust() {
  return std::make_shared<const AuthenticationTrust>();
}

DelegatedAuthenticator::DelegatedAuthenticator(const Snapshot<AuthenticationTrust>& trust,
                                               kube::Transport* tokens, const Clock& clock,
                                               Options options)
    : trust_(trust),
      tokens_(tokens),
      clock_(clock),
      options_(options),
      token_key_(random_bytes(32)),
      token_cache_(options.most_tokens),
      certificate_cache_(options.most_certificates) {}

Result<net::CertificateSubject> DelegatedAuthenticator::verify(
    const std::shared_ptr<const net::ClientCertificateVerifier>& verifier,
    const net::PeerCertificatePtr& peer) {
  std::string key = address_key(verifier.get(), peer.get());
  const SteadyTime now = clock_.steady_now();
  if (const Verified* known = certificate_cache_.find(key, now)) {
    metrics_.certificate_cache_hits_total.add();
    return known->subject;
  }
  metrics_.certificate_verifications_total.add();
  Verified verified{peer, verifier, verifier->verify(*peer)};
  Result<net::CertificateSubject> subject = verified.subject;
  certificate_cache_.put(std::move(key), std::move(verified), now + options_.certificate_ttl);
  return subject;
}

DelegatedAuthenticator::Opinion DelegatedAuthenticator::by_front_proxy(
    const net::ServerRequest& request, const AuthenticationTrust& trust) {
  if (trust.front_proxy_ca == nullptr || request.peer == nullptr) return std::nullopt;
  const Result<net::CertificateSubject> subject = verify(trust.front_proxy_ca, request.peer);
  if (!subject)
    return Result<kube::UserInfo>(with_context("front-proxy certificate", subject.error()));
  const std::vector<std::string>& allowed = trust.config.allowed_names;
  if (!allowed.empty() && !has(allowed, subject->common_name)) {
    return Result<kube::UserInfo>(
        Error(Code::kUnauthorized,
              fmt::format("front-proxy certificate: subject with cn={} is not in the allowed "
                          "list (requestheader-allowed-names)",
                          subject->common_name)));
  }
  std::optional<kube::UserInfo> user = user_from_headers(request.headers, trust.config);
  if (!user) return std::nullopt;
  metrics_.front_proxy_total.add();
  return Result<kube::UserInfo>(std::move(*user));
}

DelegatedAuthenticator::Opinion DelegatedAuthenticator::by_certificate(
    const net::ServerRequest& request, const AuthenticationTrust& trust) {
  if (trust.client_ca == nullptr || request.peer == nullptr) return std::nullopt;
  const Result<net::CertificateSubject> subject = verify(trust.client_ca, request.peer);
  if (!subject) return Result<kube::UserInfo>(with_context("client certificate", subject.error()));
  if (subject->common_name.empty()) return std::nullopt;
  kube::UserInfo user;
  user.name = subject->common_name;
  user.groups = subject->organizations;
  user.extra["authentication.kubernetes.io/credential-id"].push_back("X509SHA256=" +
                                                                     subject->sha256_hex);
  metrics_.client_certificate_total.add();
  return Result<kube::UserInfo>(std::move(user));
}

asio::awaitable<Result<kube::UserInfo>> DelegatedAuthenticator::by_token(std::string token) {
  if (tokens_ == nullptr)
    co_return Error(Code::kUnauthorized, "bearer tokens are not accepted here");
  std::string key = hmac_sha256(token_key_, token);
  if (const Result<kube::UserInfo>* known = token_cache_.find(key, clock_.steady_now())) {
    metrics_.token_cache_hits_total.add();
    co_return *known;
  }
  metrics_.token_reviews_total.add();
  Result<kube::UserInfo> user = co_await kube::review_token(*tokens_, std::move(token));
  if (!user && user.error().code != Code::kUnauthorized) {
    metrics_.token_review_errors_total.add();
    // No answer is not an answer: the next request asks again.
    co_return Error(Code::kUnauthorized, "token review: " + user.error().message);
  }
  token_cache_.put(std::move(key), user, clock_.steady_now() + options_.token_ttl);
  co_return user;
}

asio::awaitable<Result<kube::UserInfo>> DelegatedAuthenticator::authenticate(
    std::shared_ptr<const net::ServerRequest> request) {
  const std::shared_ptr<const AuthenticationTrust> trust = trust_.get();
  std::string problem;
  const auto took = [&](Opinion& opinion) {
    if (!opinion) return false;
    if (opinion->has_value()) return true;
    problem += problem.empty() ? opinion->error().message : "; " + opinion->error().message;
    return false;
  };
  Opinion opinion = by_front_proxy(*request, *trust);
  if (took(opinion)) co_return with_authenticated_group(std::move(**opinion));
  opinion = by_certificate(*request, *trust);
  if (took(opinion)) co_return with_authenticated_group(std::move(**opinion));
  if (std::optional<std::string> token = bearer_token(request->headers)) {
    opinion = co_await by_token(std::move(*token));
    if (took(opinion)) {
      metrics_.token_total.add();
      co_return with_authenticated_group(std::move(**opinion));
    }
  }
  if (problem.empty() && options_.anonymous) {
    metrics_.anonymous_total.add();
    kube::UserInfo anonymous;
    anonymous.name = "system:anonymous";
    anonymous.groups.emplace_back("system:unauthenticated");
    co_return anonymous;
  }
  metrics_.refused_total.add();
  co_return Error(Code::kUnauthorized, problem.empty() ? std::string("no credentials") : problem);
}

}  // namespace loadline::apiserver
