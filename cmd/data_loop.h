// The data loop: one thread that follows the pods, scrapes them, estimates and publishes views.
#pragma once

#include "apiserver/metrics_page.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/snapshot.h"
#include "base/task_group.h"
#include "cmd/options.h"
#include "kube/api_client.h"
#include "kube/client_config.h"
#include "kube/pod_informer.h"
#include "kube/pod_source.h"
#include "provider/collector.h"
#include "provider/reading.h"
#include "scrape/scraper.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

namespace loadline::cmd {

// Built and stopped by the main thread; everything inside lives on its own thread in between.
class DataLoop {
 public:
  // kubernetes: where pods come from, unless options name a file. Errors: a file or TLS material
  // that cannot be used.
  static Result<std::unique_ptr<DataLoop>> create(
      const ServeOptions& options, const std::optional<kube::ClientConfig>& kubernetes,
      const Clock& clock);
  ~DataLoop();

  void start();
  // Cancels everything and joins the thread. Once.
  void stop();

  // Thread-safe.
  const Snapshot<provider::View>& view() const { return view_; }
  // Seconds since the loop last showed that it turns. Thread-safe.
  double seconds_since_heartbeat() const;
  // Thread-safe: the counters are.
  void write_metrics(apiserver::MetricsPage& page) const;

 private:
  DataLoop(const ServeOptions& options, const Clock& clock);
  boost::asio::awaitable<void> beat();
  boost::asio::awaitable<void> end();

  const Clock& clock_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  TaskGroup tasks_{loop_.get_executor()};
  Snapshot<provider::View> view_{std::make_shared<const provider::View>()};
  std::unique_ptr<kube::ApiClient> api_;
  std::unique_ptr<kube::PodSource> pods_;
  const kube::PodInformer* informer_ = nullptr;  // pods_, where it is one
  std::unique_ptr<scrape::Scraper> scraper_;
  std::unique_ptr<provider::Collector> collector_;
  std::atomic<double> heartbeat_s_;
  std::thread thread_;
};

}  // namespace loadline::cmd
