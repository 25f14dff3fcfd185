#include "estimator/publisher_aggregation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace loadline::estimator {
namespace {

// The aggregate after 8@0, 2@10, 4@20, 6@50 with a window of 40 s, in which 8@0 has gone.
std::optional<double> after_four(const char* mode) {
  PublisherAggregation aggregation(parse_aggregation(mode).value(), 40);
  aggregation.publish(0, 8);
  aggregation.publish(10, 2);
  aggregation.publish(20, 4);
  return aggregation.publish(50, 6);
}

TEST(PublisherAggregation, EachModeOverItsWindow) {
  EXPECT_EQ(after_four("last"), 6);
  EXPECT_EQ(after_four("lifetime_max"), 8);
  EXPECT_EQ(after_four("max"), 6);
  EXPECT_EQ(after_four("mean"), 4);
  EXPECT_EQ(after_four("p50"), 4);
  EXPECT_EQ(after_four("p34"), 4);
  EXPECT_EQ(after_four("p33"), 2);
  EXPECT_EQ(after_four("p0"), 2);
  EXPECT_EQ(after_four("p100"), 6);
}

TEST(PublisherAggregation, WindowZeroForgetsNothing) {
  PublisherAggregation aggregation({Aggregation::Mode::kMax}, 0);
  aggregation.publish(0, 9);
  EXPECT_EQ(aggregation.publish(1e9, 1), 9);
}

TEST(PublisherAggregation, NothingPublishedIsNoValueAndSilenceChangesNothing) {
  PublisherAggregation aggregation({Aggregation::Mode::kMean}, 10);
  EXPECT_EQ(aggregation.value(), std::nullopt);
  aggregation.publish(0, 3);
  EXPECT_EQ(aggregation.value(), 3);
  EXPECT_EQ(aggregation.publish(5, std::nan("")), 3);
  EXPECT_EQ(aggregation.publish(6, INFINITY), 3);
}

TEST(PublisherAggregation, ModesAreParsed) {
  const auto percent = [](const char* text) { return parse_aggregation(text).value().percent; };
  EXPECT_EQ(percent("p90"), 90);
  EXPECT_EQ(percent("p150"), 100);
  EXPECT_EQ(percent("p-3"), 0);
  for (const char* bad :
       {"", "p", "pp", "p9x", "p99.9", "median", "Last", "p99999999999999999999"}) {
    EXPECT_FALSE(parse_aggregation(bad)) << bad;
  }
}

}  // namespace
}  // namespace loadline::estimator
