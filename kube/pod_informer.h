// The pods of the Kubernetes API: a paged list, then a watch that is resumed for ever
// (kube/list_watch.h decides, this asks). Keeps the last good state through every outage. Data loop
// only, but for snapshot(). Publishes once per chunk of a watch, not once per event. A stream that
// is silently dead is the transport's to notice, by its idle timeout: the API server sends a
// bookmark about every minute, so that more than that without a byte is a dead peer, and resuming
// costs one request.
#pragma once

#include "base/clock.h"
#include "base/metrics.h"
#include "base/snapshot.h"
#include "kube/list_watch.h"
#include "kube/pod_source.h"
#include "kube/transport.h"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

namespace loadline::kube {

struct PodInformerMetrics {
  Counter lists_total, list_failures_total, watches_total, watch_failures_total, watch_events_total,
      malformed_pods_total;
};

class PodInformer final : public PodSource {
 public:
  // Waits for that long; ends early when cancelled.
  using Pause = std::function<boost::asio::awaitable<void>(std::chrono::milliseconds)>;

  struct Options {
    std::string namespace_name;  // empty: of all namespaces
    ListWatchPolicy policy;
    std::uint64_t seed = 0;  // of the jitter: differs between replicas
    Pause pause;             // null: a timer of the loop
  };

  // transport and clock outlive the informer.
  PodInformer(Transport& transport, const Clock& clock, Options options);

  boost::asio::awaitable<void> run(Listener listener) override;
  std::shared_ptr<const PodSet> snapshot() const override { return snapshot_.get(); }
  const PodInformerMetrics& metrics() const { return metrics_; }

 private:
  struct Stream;

  boost::asio::awaitable<void> follow();
  boost::asio::awaitable<void> list(std::string continue_token);
  boost::asio::awaitable<void> watch(std::string resource_version);
  void take_page(const ApiResponse& response);
  void take_chunk(Stream& stream, std::string_view bytes);
  void finish_watch(const Stream& stream, const Result<int>& ended);
  void list_failed(const ListWatch::Failure& failure, const std::string& why);
  void tell(std::string problem);
  void publish();

  Transport& transport_;
  const Clock& clock_;
  Options options_;
  std::string path_;
  std::mt19937_64 random_;
  ListWatch machine_;
  Listener listener_;
  std::string problem_;
  std::uint64_t published_changes_ = 0;
  PodInformerMetrics metrics_;
  Snapshot<PodSet> snapshot_{std::make_shared<const PodSet>()};
};

}  // namespace loadline::kube
