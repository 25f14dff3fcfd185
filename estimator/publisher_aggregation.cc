#include "estimator/publisher_aggregation.h"

#include "estimator/quantile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <vector>

namespace loadline::estimator {

std::optional<Aggregation> parse_aggregation(std::string_view text) {
  using Mode = Aggregation::Mode;
  if (text == "last") return Aggregation{Mode::kLast};
  if (text == "lifetime_max") return Aggregation{Mode::kLifetimeMax};
  if (text == "max") return Aggregation{Mode::kMax};
  if (text == "mean") return Aggregation{Mode::kMean};
  if (text.size() < 2 || text.front() != 'p') return std::nullopt;
  int percent = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), percent);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return Aggregation{Mode::kPercentile, std::clamp(percent, 0, 100)};
}

PublisherAggregation::PublisherAggregation(Aggregation aggregation, double window_s)
    : aggregation_(aggregation), window_(window_s) {}

std::optional<double> PublisherAggregation::publish(double t_s, double figure) {
  if (!std::isfinite(t_s) || !std::isfinite(figure)) return value_;
  switch (aggregation_.mode) {
    case Aggregation::Mode::kLast:
      value_ = figure;
      break;
    case Aggregation::Mode::kLifetimeMax:
      value_ = std::max(value_.value_or(figure), figure);
      break;
    default:
      window_.push({t_s, figure});
      window_.evict(t_s);
      value_ = over_window();
  }
  return value_;
}

double PublisherAggregation::over_window() const {
  std::vector<double> figures;
  double sum = 0;
  for (const Published& published : window_.entries()) {
    figures.push_back(published.figure);
    sum += published.figure;
  }
  if (aggregation_.mode == Aggregation::Mode::kMean) {
    return sum / static_cast<double>(figures.size());
  }
  const bool max = aggregation_.mode == Aggregation::Mode::kMax;
  return nearest_rank(std::move(figures), max ? 1.0 : aggregation_.percent / 100.0);
}

}  // namespace loadline::estimator
