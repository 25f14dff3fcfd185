// Who asks. Order and rules are those of a Kubernetes aggregated API server: the identity headers
// of a verified front proxy, a client certificate, a bearer token, anonymous. An error of one does
// not stop the next; when one erred and none succeeded the request is refused. Identity headers
// without a verified front-proxy certificate do not exist for us. Serving loop only.
#pragma once

#include "apiserver/expiring_cache.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "kube/authentication_config.h"
#include "kube/reviews.h"
#include "kube/transport.h"
#include "net/http_server.h"
#include "net/tls.h"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace loadline::apiserver {

// Whom we trust, with the verifiers built. Immutable; swapped as one when the cluster's
// configuration changes.
struct AuthenticationTrust {
  bool loaded = false;  // false until the configuration was read: the server is not ready
  kube::AuthenticationConfig config;
  std::shared_ptr<const net::ClientCertificateVerifier>
      front_proxy_ca;  // null: no front proxy is trusted
  std::shared_ptr<const net::ClientCertificateVerifier>
      client_ca;  // null: no certificate users (field case B22)
};

// Errors name the bundle that cannot be used; the caller keeps the trust that it has.
Result<std::shared_ptr<const AuthenticationTrust>> make_authentication_trust(
    kube::AuthenticationConfig config);

// Trusts nobody: what a server starts with.
std::shared_ptr<const AuthenticationTrust> no_authentication_trust();

class Authenticator {
 public:
  virtual ~Authenticator() = default;

  // kUnauthorized in every failure; the message is for our log, the client gets none of it.
  virtual boost::asio::awaitable<Result<kube::UserInfo>> authenticate(
      std::shared_ptr<const net::ServerRequest> request) = 0;
};

struct AuthenticationMetrics {
  Counter front_proxy_total, client_certificate_total, token_total, anonymous_total, refused_total;
  Counter certificate_cache_hits_total, certificate_verifications_total;
  Counter token_cache_hits_total, token_reviews_total, token_review_errors_total;
};

class DelegatedAuthenticator final : public Authenticator {
 public:
  struct Options {
    std::chrono::milliseconds token_ttl{10'000};        // of valid and of invalid ones
    std::chrono::milliseconds certificate_ttl{10'000};  // a certificate is verified anew this often
    std::size_t most_tokens = 4096;
    std::size_t most_certificates = 2048;  // entries keep the peer's certificate alive
    bool anonymous = true;                 // false: who proves nothing is refused
  };

  // tokens: where tokens are reviewed, on our loop; null: bearer tokens are refused. All must
  // outlive this.
  DelegatedAuthenticator(const Snapshot<AuthenticationTrust>& trust, kube::Transport* tokens,
                         const Clock& clock, Options options);

  boost::asio::awaitable<Result<kube::UserInfo>> authenticate(
      std::shared_ptr<const net::ServerRequest> request) override;

  const AuthenticationMetrics& metrics() const { return metrics_; }

 private:
  struct Verified {
    net::PeerCertificatePtr peer;  // alive, so that its address stays its own
    std::shared_ptr<const net::ClientCertificateVerifier> verifier;
    Result<net::CertificateSubject> subject;
  };
  using Opinion = std::optional<Result<kube::UserInfo>>;  // nothing: not mine

  Result<net::CertificateSubject> verify(
      const std::shared_ptr<const net::ClientCertificateVerifier>& verifier,
      const net::PeerCertificatePtr& peer);
  Opinion by_front_proxy(const net::ServerRequest& request, const AuthenticationTrust& trust);
  Opinion by_certificate(const net::ServerRequest& request, const AuthenticationTrust& trust);
  boost::asio::awaitable<Result<kube::UserInfo>> by_token(std::string token);

  const Snapshot<AuthenticationTrust>& trust_;
  kube::Transport* tokens_;
  const Clock& clock_;
  Options options_;
  std::string token_key_;  // random: a dump of the cache does not help to test guesses of tokens
  ExpiringCache<Result<kube::UserInfo>> token_cache_;
  ExpiringCache<Verified> certificate_cache_;
  AuthenticationMetrics metrics_;
};

}  // namespace loadline::apiserver
