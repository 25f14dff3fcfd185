#include "estimator/classic.h"

#include "estimator/quantile.h"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

namespace loadline::estimator {

Classic::Classic(ClassicOptions options) : options_(options), busy_(options.window_s) {}

Estimate Classic::update(const EngineSignals& signals) {
  const Reason reason = tick(signals);
  Estimate estimate;
  estimate.t_s = signals.t_s;
  estimate.reason = reason;
  if (!capacity_) return estimate;
  estimate.quality = reason == Reason::kNone ? Quality::kMeasured : Quality::kHeld;
  estimate.capacity = estimate.lower = estimate.upper = capacity_;
  // The floor belongs to what a worker may hold: a slow engine does serve less than one request a
  // second.
  estimate.capacity_messages = std::max(1.0, *capacity_ * std::max(0.0, options_.multiplier));
  return estimate;
}

Reason Classic::tick(const EngineSignals& signals) {
  if (!signals.completed_total || !signals.running) return Reason::kSignalMissing;
  const auto growth = completed_.advance(signals.t_s, *signals.completed_total);
  if (const Reason* none = std::get_if<Reason>(&growth)) return *none;
  const auto [dt_s, completed] = std::get<CounterDelta>(growth);
  const double running = *signals.running;
  if (!std::isfinite(running) || running < 0) return Reason::kNotFinite;
  if (completed == 0 && running == 0) {
    busy_.evict(signals.t_s);
    return Reason::kIdle;
  }
  // What finished was running, though the gauge at the end of the tick no longer shows it.
  busy_.push({signals.t_s, completed, dt_s, std::max(running, completed > 0 ? 1.0 : 0.0)});
  busy_.evict(signals.t_s);
  return evaluate();
}

Reason Classic::evaluate() {
  double completed = 0, slot_seconds = 0, busy_s = 0;
  std::vector<double> concurrency;
  concurrency.reserve(busy_.entries().size());
  for (const BusyTick& tick : busy_.entries()) {
    completed += tick.completed;
    slot_seconds += tick.concurrency * tick.dt_s;
    busy_s += tick.dt_s;
    concurrency.push_back(tick.concurrency);
  }
  if (concurrency.size() < options_.min_ticks || concurrency.empty()) return Reason::kWarmUp;
  if (busy_s < options_.warmup_s) return Reason::kWarmUp;
  if (completed == 0) return Reason::kNoCompletion;
  const double capacity =
      completed / slot_seconds * nearest_rank(std::move(concurrency), options_.percentile);
  if (!std::isfinite(capacity)) return Reason::kNotFinite;
  capacity_ = capacity;
  return Reason::kNone;
}

}  // namespace loadline::estimator
