#include "estimator/counter_baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace loadline::estimator {
namespace {

using Growth = std::variant<CounterDelta, Reason>;

void expect_growth(const Growth& growth, double dt_s, double delta) {
  const auto* got = std::get_if<CounterDelta>(&growth);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->dt_s, dt_s);
  EXPECT_EQ(got->delta, delta);
}

void expect_none(const Growth& growth, Reason want) {
  const auto* got = std::get_if<Reason>(&growth);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(*got, want);
}

TEST(CounterBaseline, TheFirstSampleOnlySetsTheBaseline) {
  CounterBaseline counter;
  expect_none(counter.advance(10, 500), Reason::kNoBaseline);
  expect_growth(counter.advance(15, 510), 5, 10);
  expect_growth(counter.advance(17, 510), 2, 0);
}

TEST(CounterBaseline, B67CounterResetCostsOneTick) {
  CounterBaseline counter;
  counter.advance(0, 100);
  expect_growth(counter.advance(10, 150), 10, 50);
  expect_growth(counter.advance(20, 200), 10, 50);
  expect_none(counter.advance(30, 20), Reason::kCounterReset);
  expect_growth(counter.advance(40, 70), 10, 50);
  expect_growth(counter.advance(50, 70), 10, 0);
}

TEST(CounterBaseline, AClockThatStandsOrGoesBackCostsOneTick) {
  CounterBaseline counter;
  counter.advance(10, 100);
  expect_none(counter.advance(10, 105), Reason::kClock);
  expect_growth(counter.advance(15, 110), 5, 5);
  expect_none(counter.advance(12, 111), Reason::kClock);
  expect_growth(counter.advance(20, 119), 8, 8);
}

TEST(CounterBaseline, WhatIsNoReadingNeverBecomesTheBaseline) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf, -1.0}) {
    CounterBaseline counter;
    expect_none(counter.advance(0, bad), Reason::kNotFinite);
    expect_none(counter.advance(5, 10), Reason::kNoBaseline);
    expect_none(counter.advance(10, bad), Reason::kNotFinite);
    expect_growth(counter.advance(15, 30), 10, 20);
  }
  CounterBaseline counter;
  counter.advance(0, 1);
  expect_none(counter.advance(nan, 2), Reason::kNotFinite);
  expect_none(counter.advance(inf, 2), Reason::kNotFinite);
  expect_growth(counter.advance(5, 3), 5, 2);
}

TEST(CounterBaseline, CountersAboveTwoToThe53StillCompare) {
  CounterBaseline counter;
  const double big = 9007199254740992.0;
  counter.advance(0, big);
  expect_growth(counter.advance(5, big + 4), 5, 4);
}

}  // namespace
}  // namespace loadline::estimator
