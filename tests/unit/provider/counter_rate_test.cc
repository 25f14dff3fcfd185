#include "provider/counter_rate.h"

#include "tests/unit/provider/provider_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::provider {
namespace {

using Step = CounterRate::Step;

Step add(CounterRate& rate, double t_s, double value) { return rate.add(t_s, value, {{1, value}}); }

TEST(CounterRate, B67AResetIsLeftOutAndNeverShows) {
  const auto input = nlohmann::json::parse(testdata("field-cases/B67-counter-reset.json"));
  const auto want = nlohmann::json::parse(testdata("field-cases/B67-counter-reset.expected.json"));
  CounterRate rate;
  std::size_t i = 0;
  for (const auto& sample : input["samples"]) {
    const double before = rate.growth();
    const Step step = add(rate, sample[0], sample[1]);
    if (i > 0 && sample[0] != 30) {
      EXPECT_EQ(step, Step::kGrew);
      EXPECT_EQ(rate.growth(), want["increase_between"][i - 1].get<double>());
    } else {
      EXPECT_EQ(step, i == 0 ? Step::kFirst : Step::kReset);
      EXPECT_EQ(rate.growth(), before);
    }
    // 5 everywhere, but for the last interval, in which nothing finished: (50 + 0) / 20.
    if (i > 0 && sample[0] < 50) {
      ASSERT_TRUE(rate.rate().has_value());
      EXPECT_DOUBLE_EQ(rate.rate()->per_second, 5);
    }
    ++i;
  }
  ASSERT_TRUE(rate.rate().has_value());
  EXPECT_GE(rate.rate()->per_second, 0);
  EXPECT_LT(rate.rate()->per_second, 5);
}

TEST(CounterRate, OneSampleHasNoRate) {
  CounterRate rate;
  EXPECT_FALSE(rate.rate().has_value());
  EXPECT_EQ(add(rate, 0, 900'000), Step::kFirst);
  EXPECT_FALSE(rate.rate().has_value());
}

TEST(CounterRate, OneOfSeveralSeriesThatRestartsIsAResetThoughTheSumGrows) {
  CounterRate rate;
  EXPECT_EQ(rate.add(0, 1100, {{1, 1000}, {2, 100}}), Step::kFirst);
  EXPECT_EQ(rate.add(5, 1210, {{2, 1200}, {1, 10}}), Step::kReset);
  EXPECT_FALSE(rate.rate().has_value());
  EXPECT_EQ(rate.add(10, 1310, {{1, 60}, {2, 1250}}), Step::kGrew);
  EXPECT_DOUBLE_EQ(rate.rate()->per_second, 20);
}

TEST(CounterRate, ASeriesThatVanishesIsAResetAndANewOneCountsFromZero) {
  CounterRate rate;
  rate.add(0, 10, {{1, 10}});
  EXPECT_EQ(rate.add(5, 30, {{1, 20}, {2, 10}}), Step::kGrew);
  EXPECT_EQ(rate.growth(), 20);
  EXPECT_EQ(rate.add(10, 40, {{1, 40}}), Step::kReset);
}

TEST(CounterRate, TheWindowIsThirtySecondsOrOneLongInterval) {
  CounterRate rate;
  add(rate, 0, 0);
  for (int t = 5; t <= 100; t += 5) add(rate, t, t <= 50 ? 10.0 * t : 500.0);
  EXPECT_DOUBLE_EQ(rate.rate()->per_second, 0);
  EXPECT_DOUBLE_EQ(rate.rate()->window_s, 30);
  add(rate, 220, 500 + 1200);
  EXPECT_DOUBLE_EQ(rate.rate()->per_second, 10);
  EXPECT_DOUBLE_EQ(rate.rate()->window_s, 120);
}

TEST(CounterRate, AfterResetsOnlyTheOldRateEnds) {
  CounterRate rate;
  add(rate, 0, 100);
  add(rate, 5, 150);
  for (int t = 10; t <= 40; t += 5) add(rate, t, 100.0 - t);
  EXPECT_FALSE(rate.rate().has_value());
}

TEST(CounterRate, TimeThatStandsStillChangesNothing) {
  CounterRate rate;
  add(rate, 5, 100);
  EXPECT_EQ(add(rate, 5, 200), Step::kNoTime);
  EXPECT_EQ(add(rate, 4, 200), Step::kNoTime);
  EXPECT_EQ(add(rate, 10, 150), Step::kGrew);
  EXPECT_DOUBLE_EQ(rate.rate()->per_second, 10);
}

}  // namespace
}  // namespace loadline::provider
