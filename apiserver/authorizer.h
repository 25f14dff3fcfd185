// May this user do that. Serving loop only.
#pragma once

#include "apiserver/expiring_cache.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/reviews.h"
#include "kube/transport.h"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace loadline::apiserver {

class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // An error means that no decision could be had: the request must not be served (it fails closed,
  // with 500).
  virtual boost::asio::awaitable<Result<kube::AccessDecision>> authorize(
      kube::UserInfo user, kube::AccessAttributes attributes) = 0;
};

// Allows everything: the embedded default, where there is no Kubernetes to ask.
class AllowAll final : public Authorizer {
 public:
  boost::asio::awaitable<Result<kube::AccessDecision>> authorize(
      kube::UserInfo user, kube::AccessAttributes attributes) override;
};

struct AuthorizationMetrics {
  Counter privileged_total, open_path_total;          // allowed without a review
  Counter allowed_total, denied_total, errors_total;  // by a review, cached ones included
  Counter cache_hits_total, reviews_total;
};

// As a Kubernetes aggregated API server: system:masters and the open paths are allowed, the rest is
// a SubjectAccessReview, whose answers are kept for a short while.
class DelegatedAuthorizer final : public Authorizer {
 public:
  struct Options {
    std::chrono::milliseconds allowed_ttl{10'000};
    std::chrono::milliseconds denied_ttl{10'000};
    std::size_t most_decisions = 8192;
    std::size_t most_cached_bytes =
        10'000;  // of what the requester controls; longer requests are reviewed each time
    std::vector<std::string> open_paths{"/healthz", "/readyz",
                                        "/livez"};  // exact, or a prefix that ends in '*'
  };

  // reviews: of our loop; null, where there is nobody to ask: what is neither privileged nor open
  // is denied. Both must outlive this.
  DelegatedAuthorizer(kube::Transport* reviews, const Clock& clock, Options options);

  boost::asio::awaitable<Result<kube::AccessDecision>> authorize(
      kube::UserInfo user, kube::AccessAttributes attributes) override;

  const AuthorizationMetrics& metrics() const { return metrics_; }

 private:
  bool is_open(const kube::AccessAttributes& attributes) const;

  kube::Transport* reviews_;
  const Clock& clock_;
  Options options_;
  ExpiringCache<kube::AccessDecision> cache_;  // by the digest of the question
  AuthorizationMetrics metrics_;
};

}  // namespace loadline::apiserver
