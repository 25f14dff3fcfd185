// Our own /metrics page in the Prometheus text format. Components keep plain structs of counters; a
// writer function turns a struct into families when the page is asked for. cmd/ hands in writers
// for what apiserver/ does not know.
#pragma once

#include "apiserver/authenticator.h"
#include "apiserver/authorizer.h"
#include "base/metrics.h"
#include "net/http_server.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace loadline::apiserver {

enum class MetricType { kCounter, kGauge, kHistogram };

// Not thread-safe: one page, one writer.
class MetricsPage {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Begins a family; its samples follow. The name of a counter ends in "_total". REQUIRES: each
  // name once a page.
  void family(std::string_view name, MetricType type, std::string_view help);
  // A sample of the family begun last; `suffix` for histograms ("_bucket", "_sum", "_count").
  void sample(double value, Labels labels = {}, std::string_view suffix = {});

  // A family of one sample.
  void counter(std::string_view name, std::string_view help, const Counter& counter);
  void gauge(std::string_view name, std::string_view help, double value);

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string family_;
};

// Adds the families of one component. Runs on the serving loop.
using MetricsWriter = std::function<void(MetricsPage&)>;

// Durations in seconds. Thread-safe, relaxed.
class DurationHistogram {
 public:
  static constexpr std::array<double, 10> kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                     0.025,  0.1,   0.5,    1.0,   5.0};
  void observe(double seconds);
  std::uint64_t count() const;
  // Samples of the family begun last.
  void write(MetricsPage& page, std::string_view label, std::string_view value) const;

 private:
  std::array<Counter, kBounds.size() + 1> buckets_;
  Counter sum_microseconds_;
};

void write_metrics(MetricsPage& page, const net::ServerMetrics& metrics);
void write_metrics(MetricsPage& page, const AuthenticationMetrics& metrics);
void write_metrics(MetricsPage& page, const AuthorizationMetrics& metrics);

}  // namespace loadline::apiserver
