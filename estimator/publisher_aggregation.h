// How a worker boils its published figures down to the one that the autoscaler reads, as Beam's
// publisher does. Not thread-safe. The aggregate changes only when a figure is published; between
// two it stands, however old.
#pragma once

#include "estimator/trailing_window.h"

#include <optional>
#include <string_view>

namespace loadline::estimator {

struct Aggregation {
  enum class Mode { kLast, kLifetimeMax, kMax, kPercentile, kMean };
  Mode mode = Mode::kLast;
  int percent = 0;  // 0..100, of kPercentile
};

// "last", "lifetime_max", "max", "mean" or "pNN" ("p90"; NN is clamped to 0..100). Nothing for
// anything else, where Beam falls back to max.
std::optional<Aggregation> parse_aggregation(std::string_view text);

class PublisherAggregation {
 public:
  // window_s: of the figures that count; 0: all. last and lifetime_max know no window.
  PublisherAggregation(Aggregation aggregation, double window_s);

  // Takes a figure and returns the new aggregate. One that is not finite is dropped.
  std::optional<double> publish(double t_s, double figure);

  std::optional<double> value() const { return value_; }

 private:
  struct Published {
    double t_s, figure;
  };
  double over_window() const;

  Aggregation aggregation_;
  TrailingWindow<Published> window_;
  std::optional<double> value_;
};

}  // namespace loadline::estimator
