// What may change while the server runs and is looked at every few seconds: the serving certificate
// and whom we trust. Serving loop only, but for current(), which is thread-safe. What is broken
// leaves the last good one in place, with a log line.
#pragma once

#include "apiserver/authenticator.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "cmd/options.h"
#include "kube/transport.h"
#include "net/tls.h"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace loadline::cmd {

inline constexpr std::chrono::seconds kLookEvery{5};

// The certificate and key files; without files a self-signed pair for `names`, made once, in
// memory.
class ServingCertificate {
 public:
  static Result<std::unique_ptr<ServingCertificate>> create(const ServeOptions& options,
                                                            const std::vector<std::string>& names);

  net::TlsContext current() const;
  // Empty where files are served.
  const std::string& self_signed_pem() const { return self_signed_pem_; }
  boost::asio::awaitable<void> follow();
  // What follow() does each time: takes what changed into use. A pair that was refused is an error
  // once.
  Status load();

  Counter reloads_total, reload_failures_total;

 private:
  ServingCertificate(std::string cert_file, std::string key_file);

  std::string cert_file_, key_file_, self_signed_pem_;
  std::string loaded_pem_;   // certificate and key as they were loaded last
  std::string refused_pem_;  // and as they were refused last: told once
  Snapshot<boost::asio::ssl::context> context_{nullptr};
};

// Whom we trust: from the cluster's ConfigMap (transport), or from the flags' files.
class FollowedTrust {
 public:
  // transport: on the serving loop, outlives this; null: the flags of options.
  FollowedTrust(kube::Transport* transport, ServeOptions options);

  const Snapshot<apiserver::AuthenticationTrust>& current() const { return trust_; }
  // From files: at the start, so that a wrong flag ends it, and each time they are looked at.
  // REQUIRES: no transport.
  Status load_files();
  boost::asio::awaitable<void> follow();

  Counter reloads_total, reload_failures_total;

 private:
  Result<kube::AuthenticationConfig> from_flags() const;
  Status accept(kube::AuthenticationConfig config);
  void tell(const Status& outcome);

  kube::Transport* transport_;
  ServeOptions options_;
  std::string told_;  // the problem that was logged last
  Snapshot<apiserver::AuthenticationTrust> trust_{apiserver::no_authentication_trust()};
};

}  // namespace loadline::cmd
