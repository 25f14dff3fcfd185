#include "cmd/serve.h"

#include "base/log.h"
#include "cmd/data_loop.h"
#include "cmd/serving_loop.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <cstdlib>
#include <optional>

namespace loadline::cmd {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kMostDrain{30};

std::string environment(const char* name) {
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread is started
  return value == nullptr ? std::string() : value;
}

Result<std::optional<kube::ClientConfig>> find_kubernetes(const ServeOptions& options) {
  if (!options.pods_file.empty()) return std::optional<kube::ClientConfig>();
  auto config = options.kubeconfig.empty()
                    ? kube::in_cluster_config(environment("KUBERNETES_SERVICE_HOST"),
                                              environment("KUBERNETES_SERVICE_PORT"))
                    : kube::load_kubeconfig(options.kubeconfig);
  if (!config) return config.error();
  return std::optional<kube::ClientConfig>(std::move(*config));
}

}  // namespace

Status serve(const ServeOptions& options) {
  set_log_level(options.verbosity > 0 ? LogLevel::kDebug : LogLevel::kInfo);
  const auto kubernetes = find_kubernetes(options);
  if (!kubernetes) return kubernetes.error();
  auto data = DataLoop::create(options, *kubernetes, system_clock());
  if (!data) return data.error();
  auto serving = ServingLoop::create(options, *kubernetes, **data, system_clock());
  if (!serving) return serving.error();

  // Before any thread: every thread inherits that the signals go to the signal set.
  asio::io_context loop(1);
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  if (auto listening = (*serving)->start(); !listening) return listening;
  (*data)->start();
  log_info("serving", kv("address", options.bind_address), kv("port", (*serving)->port()),
           kv("pods", options.pods_file.empty() ? "kubernetes" : options.pods_file));

  asio::steady_timer delay(loop);
  signals.async_wait([&](const boost::system::error_code&, int signal) {
    log_info("shutting down", kv("signal", signal));
    (*serving)->drain();
    signals.async_wait([](const boost::system::error_code& error, int) {
      if (!error) std::_Exit(1);  // a second signal: at once
    });
    delay.expires_after(options.shutdown_delay);
    delay.async_wait([&](const boost::system::error_code&) { loop.stop(); });
  });
  loop.run();
  (*serving)->stop(kMostDrain);
  (*data)->stop();
  log_info("stopped");
  return {};
}

}  // namespace loadline::cmd
