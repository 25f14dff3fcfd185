#include "estimator/quantile.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

namespace loadline::estimator {

double nearest_rank(std::vector<double> values, double q) {
  assert(!values.empty() && q >= 0 && q <= 1);
  constexpr std::int64_t kMillion = 1'000'000;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t rank = (std::llround(q * kMillion) * count + kMillion - 1) / kMillion;
  const auto nth = values.begin() + std::clamp<std::int64_t>(rank - 1, 0, count - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

}  // namespace loadline::estimator
