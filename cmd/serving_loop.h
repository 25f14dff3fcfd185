// The serving loop: one thread that answers HTTPS from the newest view.
#pragma once

#include "apiserver/api_server.h"
#include "base/task_group.h"
#include "cmd/data_loop.h"
#include "cmd/following.h"
#include "cmd/options.h"
#include "kube/api_client.h"
#include "kube/client_config.h"
#include "net/http_server.h"
#include "provider/pod_metrics.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace loadline::cmd {

// Built, drained and stopped by the main thread. The data loop outlives it.
class ServingLoop {
 public:
  static Result<std::unique_ptr<ServingLoop>> create(
      const ServeOptions& options, const std::optional<kube::ClientConfig>& kubernetes,
      const DataLoop& data, const Clock& clock);
  ~ServingLoop();

  // Listens; the error names the address and the cure.
  Status start();
  std::uint16_t port() const;
  // PEM of the self-signed certificate, empty where files are served.
  const std::string& self_signed_pem() const { return certificate_->self_signed_pem(); }

  // /readyz fails from now on. Thread-safe.
  void drain() { draining_ = true; }
  // Lets requests under way end, then joins the thread. Once.
  void stop(std::chrono::milliseconds most);

 private:
  ServingLoop(const DataLoop& data, const Clock& clock);
  void make_access(const ServeOptions& options);
  void make_server(const ServeOptions& options);
  boost::asio::awaitable<void> end(std::chrono::milliseconds most);

  const DataLoop& data_;
  const Clock& clock_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  TaskGroup tasks_{loop_.get_executor()};
  std::atomic<bool> draining_{false};
  std::unique_ptr<kube::ApiClient> api_;  // null without Kubernetes
  std::unique_ptr<ServingCertificate> certificate_;
  std::unique_ptr<FollowedTrust> trust_;
  std::unique_ptr<apiserver::DelegatedAuthenticator> authenticator_;
  std::unique_ptr<apiserver::DelegatedAuthorizer> delegated_;  // authorizer_, where it is one
  std::unique_ptr<apiserver::AllowAll> allow_all_;
  apiserver::Authorizer* authorizer_ = nullptr;
  std::unique_ptr<provider::PodMetrics> metrics_;
  std::unique_ptr<apiserver::ApiServer> api_server_;
  std::unique_ptr<net::HttpServer> https_;
  std::thread thread_;
};

}  // namespace loadline::cmd
