#include "provider/counter_rate.h"

#include <algorithm>

namespace loadline::provider {

CounterRate::Step CounterRate::add(double t_s, double total, std::vector<CounterSeries> series) {
  if (any_ && !(t_s > t_s_)) return Step::kNoTime;
  std::sort(series.begin(), series.end(),
            [](const CounterSeries& a, const CounterSeries& b) { return a.key < b.key; });
  Step step = Step::kFirst;
  if (any_) {
    step = total < total_ || has_reset(series) ? Step::kReset : Step::kGrew;
    if (step == Step::kGrew) {
      growth_ = total - total_;
      intervals_.push_back({t_s_, t_s, growth_});
    }
  }
  any_ = true;
  t_s_ = t_s;
  total_ = total;
  series_ = std::move(series);
  // One whole interval is kept however long it is, as long as it is the newest.
  while (!intervals_.empty() && intervals_.front().begin_s < t_s - kWindowS &&
         (intervals_.size() > 1 || intervals_.front().end_s < t_s)) {
    intervals_.pop_front();
  }
  return step;
}

bool CounterRate::has_reset(const std::vector<CounterSeries>& now) const {
  auto it = now.begin();
  for (const CounterSeries& before : series_) {
    while (it != now.end() && it->key < before.key) ++it;
    if (it == now.end() || it->key != before.key || it->value < before.value) return true;
  }
  return false;
}

std::optional<Rate> CounterRate::rate() const {
  Rate rate;
  double growth = 0;
  for (const Interval& interval : intervals_) {
    growth += interval.growth;
    rate.window_s += interval.end_s - interval.begin_s;
  }
  if (rate.window_s <= 0) return std::nullopt;
  rate.per_second = growth / rate.window_s;
  return rate;
}

}  // namespace loadline::provider
