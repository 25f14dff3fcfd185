#include "cmd/following.h"

#include "base/file.h"
#include "base/log.h"
#include "kube/authentication_config.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace loadline::cmd {

namespace asio = boost::asio;

namespace {

// false: the waiting coroutine is to end.
asio::awaitable<bool> wait_to_look() {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, kLookEvery);
  const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return !error;
}

}  // namespace

ServingCertificate::ServingCertificate(std::string cert_file, std::string key_file)
    : cert_file_(std::move(cert_file)), key_file_(std::move(key_file)) {}

Result<std::unique_ptr<ServingCertificate>> ServingCertificate::create(
    const ServeOptions& options, const std::vector<std::string>& names) {
  std::unique_ptr<ServingCertificate> serving(
      new ServingCertificate(options.tls_cert_file, options.tls_private_key_file));
  if (!options.tls_cert_file.empty()) {
    if (auto loaded = serving->load(); !loaded) return loaded.error();
    return serving;
  }
  auto pair = net::make_self_signed("loadline", names);
  if (!pair) return pair.error();
  auto context = net::make_server_context(pair->certificate_pem, pair->key_pem);
  if (!context) return context.error();
  serving->context_.publish(*context);
  serving->self_signed_pem_ = pair->certificate_pem;
  return serving;
}

net::TlsContext ServingCertificate::current() const {
  return std::const_pointer_cast<asio::ssl::context>(context_.get());
}

Status ServingCertificate::load() {
  const auto certificate = read_file(cert_file_, 1u << 20);
  if (!certificate) return with_context("--tls-cert-file", certificate.error());
  const auto key = read_file(key_file_, 1u << 20);
  if (!key) return with_context("--tls-private-key-file", key.error());
  const std::string pem = *certificate + *key;
  if (pem == loaded_pem_ || pem == refused_pem_) return {};
  auto context = net::make_server_context(*certificate, *key);
  if (!context) {
    refused_pem_ = pem;
    return with_context(
        "--tls-cert-file " + cert_file_ + " with --tls-private-key-file " + key_file_,
        context.error());
  }
  loaded_pem_ = pem;
  context_.publish(*context);
  reloads_total.add();
  return {};
}

asio::awaitable<void> ServingCertificate::follow() {
  if (cert_file_.empty()) co_return;
  for (;;) {
    const bool look = co_await wait_to_look();
    if (!look) co_return;
    if (const auto loaded = load(); !loaded) {
      reload_failures_total.add();
      log_warning("the serving certificate was not reloaded, the last one stays",
                  kv("error", loaded.error().message));
    }
  }
}

FollowedTrust::FollowedTrust(kube::Transport* transport, ServeOptions options)
    : transport_(transport), options_(std::move(options)) {}

Result<kube::AuthenticationConfig> FollowedTrust::from_flags() const {
  kube::AuthenticationConfig config;
  const auto read_ca = [](const char* flag, const std::string& path) -> Result<std::string> {
    auto pem = read_file(path, 1u << 20);
    if (!pem) return with_context(flag, pem.error());
    // An empty bundle would mean "trust nobody", which nobody writes a flag for.
    if (pem->find("-----BEGIN") == std::string::npos) {
      return Error(Code::kBadRequest,
                   std::string(flag) + " " + path +
                       ": no certificate in PEM form in it (-----BEGIN CERTIFICATE-----)");
    }
    return std::move(*pem);
  };
  if (!options_.client_ca_file.empty()) {
    auto pem = read_ca("--client-ca-file", options_.client_ca_file);
    if (!pem) return pem.error();
    config.client_ca_pem = std::move(*pem);
  }
  if (!options_.requestheader_client_ca_file.empty()) {
    auto pem = read_ca("--requestheader-client-ca-file", options_.requestheader_client_ca_file);
    if (!pem) return pem.error();
    config.requestheader_ca_pem = std::move(*pem);
    config.allowed_names = options_.requestheader_allowed_names;
    config.username_headers = options_.requestheader_username_headers;
    config.uid_headers = options_.requestheader_uid_headers;
    config.group_headers = options_.requestheader_group_headers;
    config.extra_header_prefixes = options_.requestheader_extra_headers_prefix;
  }
  return config;
}

Status FollowedTrust::accept(kube::AuthenticationConfig config) {
  const auto now = trust_.get();
  if (now->loaded && now->config == config) return {};
  auto trust = apiserver::make_authentication_trust(std::move(config));
  if (!trust) return trust.error();
  trust_.publish(std::move(*trust));
  reloads_total.add();
  return {};
}

Status FollowedTrust::load_files() {
  auto config = from_flags();
  if (!config) return config.error();
  return accept(std::move(*config));
}

void FollowedTrust::tell(const Status& outcome) {
  if (outcome) {
    if (!told_.empty()) log_info("the authentication configuration is well again");
    told_.clear();
    return;
  }
  reload_failures_total.add();
  if (told_ == outcome.error().message) return;
  told_ = outcome.error().message;
  log_warning("the authentication configuration was not reloaded, the last one stays",
              kv("error", told_));
}

asio::awaitable<void> FollowedTrust::follow() {
  for (;;) {
    if (transport_ == nullptr) {
      tell(load_files());
    } else {
      auto config = co_await kube::fetch_authentication_config(*transport_);
      tell(config ? accept(std::move(*config)) : Status(config.error()));
    }
    const bool look = co_await wait_to_look();
    if (!look) co_return;
  }
}

}  // namespace loadline::cmd
