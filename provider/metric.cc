#include "provider/metric.h"

namespace loadline::provider {
namespace {

constexpr std::array<MetricInfo, kPodMetrics> kCatalogue{{
    {"inference_capacity", "req/s",
     "requests per second that the replica sustains, for the present request mix"},
    {"inference_capacity_messages", "requests",
     "requests that the replica may hold: its rate times the drain seconds, never below 1"},
    {"inference_requests_running", "requests",
     "requests in the engine's batch, over all of its ranks"},
    {"inference_requests_waiting", "requests", "requests that wait in the engine for capacity"},
    {"inference_requests_in_flight", "requests", "running and waiting requests"},
    {"inference_completions_per_second", "req/s",
     "requests finished with a result, over about 30 s"},
    {"inference_prompt_tokens_per_second", "tokens/s",
     "prompt tokens taken in, prefix hits included, over about 30 s"},
    {"inference_generation_tokens_per_second", "tokens/s", "tokens generated, over about 30 s"},
}};

}  // namespace

const MetricInfo& info(PodMetric metric) { return kCatalogue.at(static_cast<std::size_t>(metric)); }

std::optional<PodMetric> pod_metric_named(std::string_view name) {
  for (std::size_t i = 0; i < kPodMetrics; ++i) {
    if (kCatalogue[i].name == name) return static_cast<PodMetric>(i);
  }
  return std::nullopt;
}

}  // namespace loadline::provider
