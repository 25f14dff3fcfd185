#include "estimator/counter_baseline.h"

#include <cmath>

namespace loadline::estimator {

std::variant<CounterDelta, Reason> CounterBaseline::advance(double t_s, double total) {
  if (!std::isfinite(t_s) || !std::isfinite(total) || total < 0) return Reason::kNotFinite;
  const std::optional<Sample> before = baseline_;
  baseline_ = Sample{t_s, total};
  if (!before) return Reason::kNoBaseline;
  const CounterDelta growth{t_s - before->t_s, total - before->total};
  if (!(growth.dt_s > 0)) return Reason::kClock;
  if (growth.delta < 0) return Reason::kCounterReset;
  if (!std::isfinite(growth.dt_s)) return Reason::kNotFinite;
  return growth;
}

}  // namespace loadline::estimator
