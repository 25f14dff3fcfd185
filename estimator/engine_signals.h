// One sample of one engine, normalised: what its metrics page says, under the field's names and in
// base units. The estimators' only input besides their own state. Immutable value.
#pragma once

#include <optional>

namespace loadline::estimator {

// Unknown stays unknown: a signal that the page does not have is nullopt, never 0.
// Counters are totals since the engine's start and may reset; gauges are instantaneous.
struct EngineSignals {
  double t_s = 0;  // when the sample was taken, seconds on a steady time line

  std::optional<double> completed_total;      // requests finished with a result
  std::optional<double> running;              // requests, in the batch
  std::optional<double> waiting;              // requests, queued in the engine, not in running
  std::optional<double> prompt_tokens_total;  // tokens, prefix hits included
  std::optional<double> prompt_tokens_cached_total;  // tokens that the prefix cache spared
  std::optional<double> generation_tokens_total;     // tokens
  std::optional<double> iterations_total;            // engine steps
  std::optional<double> iteration_tokens_total;      // tokens over all steps
  std::optional<double> itl_seconds_sum;             // inter-token latency: sum, s
  std::optional<double> itl_seconds_count;           //   and count
  std::optional<double> preemptions_total;
  std::optional<double> kv_usage;  // 0..1
};

}  // namespace loadline::estimator
