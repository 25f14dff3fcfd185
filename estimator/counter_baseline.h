// The growth of a counter between samples. Remembers one sample; not thread-safe.
#pragma once

#include "estimator/estimate.h"

#include <optional>
#include <variant>

namespace loadline::estimator {

struct CounterDelta {
  double dt_s = 0;   // above 0
  double delta = 0;  // not below 0
};

class CounterBaseline {
 public:
  // The growth since the sample before, or why there is none: kNoBaseline, kClock, kCounterReset,
  // kNotFinite. The sample becomes the baseline before it is judged, so that a reset or a clock
  // step costs one tick; only one that is no reading of a counter at all (NaN, infinite, negative)
  // leaves the baseline alone.
  std::variant<CounterDelta, Reason> advance(double t_s, double total);

 private:
  struct Sample {
    double t_s, total;
  };
  std::optional<Sample> baseline_;
};

}  // namespace loadline::estimator
