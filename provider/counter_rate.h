// The rate of one counter of one engine over a trailing window. Intervals in which a series went
// back or vanished are left out, so a rate is never below 0 and never jumps (field case B67); a
// series that is new counts from 0. A gap between samples only makes its interval longer. Not
// thread-safe. Bounded: 30 s of samples, kMostSeries series.
#pragma once

#include "provider/signals.h"

#include <deque>
#include <optional>
#include <variant>
#include <vector>

namespace loadline::provider {

struct Rate {
  double per_second = 0;
  double window_s =
      0;  // the time that it rests on: a few intervals, or the newest one where that is longer
};

class CounterRate {
 public:
  static constexpr double kWindowS = 30;

  enum class Step { kFirst, kGrew, kReset, kNoTime };

  // The newest sample: its sum and the series that it is made of. kNoTime (time stood still or went
  // back) changes nothing.
  Step add(double t_s, double total, std::vector<CounterSeries> series);

  // The growth of the last kGrew.
  double growth() const { return growth_; }

  // At the time of the newest sample; empty while there is no whole interval in the window.
  std::optional<Rate> rate() const;

 private:
  struct Interval {
    double begin_s, end_s, growth;
  };

  bool has_reset(const std::vector<CounterSeries>& now) const;

  bool any_ = false;
  double t_s_ = 0, total_ = 0, growth_ = 0;
  std::vector<CounterSeries> series_;  // sorted by key
  std::deque<Interval> intervals_;
};

}  // namespace loadline::provider
