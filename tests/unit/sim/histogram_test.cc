#include "sim/histogram.h"

#include <gtest/gtest.h>

namespace loadline::sim {
namespace {

TEST(Histogram, ABoundBelongsToItsOwnBucket) {
  Histogram histogram({1, 2});
  for (const double value : {0.5, 1.0, 1.5, 2.0, 9.0}) histogram.observe(value);
  EXPECT_EQ(histogram.counts(), (std::vector<std::int64_t>{2, 2, 1}));
  EXPECT_EQ(histogram.count(), 5);
  EXPECT_DOUBLE_EQ(histogram.sum(), 14);
}

}  // namespace
}  // namespace loadline::sim
