// The catalogue of per-pod metrics that we serve: name, unit, meaning. One table feeds discovery,
// queries, docs/metrics.md.
#pragma once

#include "base/clock.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace loadline::provider {

enum class PodMetric : std::size_t {
  kCapacity,                   // inference_capacity, req/s
  kCapacityMessages,           // inference_capacity_messages, requests
  kRequestsRunning,            // inference_requests_running
  kRequestsWaiting,            // inference_requests_waiting
  kRequestsInFlight,           // inference_requests_in_flight
  kCompletionsPerSecond,       // inference_completions_per_second
  kPromptTokensPerSecond,      // inference_prompt_tokens_per_second
  kGenerationTokensPerSecond,  // inference_generation_tokens_per_second
};
inline constexpr std::size_t kPodMetrics = 8;

struct MetricInfo {
  std::string_view name, unit, help;
};
const MetricInfo& info(PodMetric metric);
std::optional<PodMetric> pod_metric_named(std::string_view name);

// One number as it is served. Finite; 0 is a measurement, absence is not a MetricValue.
struct MetricValue {
  double value = 0;
  WallTime timestamp;                          // of the sample it rests on
  std::optional<std::chrono::seconds> window;  // over which a rate was taken; none for a gauge
};

using PodMetricValues = std::array<std::optional<MetricValue>, kPodMetrics>;

}  // namespace loadline::provider
