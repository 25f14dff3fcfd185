#include "estimator/quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace loadline::estimator {
namespace {

TEST(Quantile, TakesTheValueOfTheNearestRank) {
  const auto f = [](std::vector<double> values, double q, double want, int line) {
    EXPECT_EQ(nearest_rank(std::move(values), q), want) << "line " << line;
  };
  f({7}, 0.0, 7, __LINE__);
  f({7}, 0.9, 7, __LINE__);
  f({7}, 1.0, 7, __LINE__);
  f({3, 1, 2}, 0.0, 1, __LINE__);
  f({3, 1, 2}, 0.5, 2, __LINE__);
  f({3, 1, 2}, 0.34, 2, __LINE__);
  f({3, 1, 2}, 1.0, 3, __LINE__);
  f({4, 4, 4, 9}, 0.75, 4, __LINE__);
  f({4, 4, 4, 9}, 0.76, 9, __LINE__);
}

TEST(Quantile, RanksAreExactAtEveryPercentAndLength) {
  for (int n = 1; n <= 130; ++n) {
    std::vector<double> values(static_cast<std::size_t>(n));
    std::iota(values.rbegin(), values.rend(), 1.0);  // the value is its own rank
    for (int percent = 0; percent <= 100; ++percent) {
      const int rank = std::clamp((percent * n + 99) / 100, 1, n);
      EXPECT_EQ(nearest_rank(values, percent / 100.0), rank) << percent << "% of " << n;
    }
  }
}

}  // namespace
}  // namespace loadline::estimator
