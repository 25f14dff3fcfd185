#include "estimator/classic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace loadline::estimator {
namespace {

EngineSignals sample(double t_s, std::optional<double> completed, std::optional<double> running) {
  EngineSignals signals;
  signals.t_s = t_s;
  signals.completed_total = completed;
  signals.running = running;
  return signals;
}

// Ten samples at 5 s: 10 completions a tick with 4 running, so 0.5 req/s per slot.
Estimate feed_steady(Classic& classic, double* t_s, double* completed, int samples = 10) {
  Estimate estimate;
  for (int i = 0; i < samples; ++i) {
    estimate = classic.update(sample(*t_s, *completed, 4));
    *t_s += 5;
    *completed += 10;
  }
  return estimate;
}

struct Steady {
  Classic classic;
  double t_s = 100, completed = 1000;
  Estimate estimate = feed_steady(classic, &t_s, &completed);
};

TEST(Classic, ThroughputPerSlotTimesConcurrency) {
  Steady steady;
  EXPECT_EQ(steady.estimate.capacity, 2.0);
  EXPECT_EQ(steady.estimate.lower, 2.0);
  EXPECT_EQ(steady.estimate.upper, 2.0);
  EXPECT_EQ(steady.estimate.capacity_messages, 2.0);
  EXPECT_EQ(steady.estimate.quality, Quality::kMeasured);
  EXPECT_EQ(steady.estimate.reason, Reason::kNone);
  EXPECT_EQ(steady.estimate.t_s, 145);
}

TEST(Classic, NothingIsSaidBeforeTheBaselineAndTheWarmUp) {
  Classic classic;
  double t_s = 0, completed = 0;
  Estimate estimate = feed_steady(classic, &t_s, &completed, 1);
  EXPECT_EQ(estimate.reason, Reason::kNoBaseline);
  for (int i = 1; i <= 5; ++i) {  // 25 s of busy time at the fifth
    estimate = feed_steady(classic, &t_s, &completed, 1);
    EXPECT_EQ(estimate.reason, Reason::kWarmUp);
    EXPECT_EQ(estimate.quality, Quality::kUnknown);
    EXPECT_EQ(estimate.capacity, std::nullopt);
    EXPECT_EQ(estimate.capacity_messages, std::nullopt);
  }
  EXPECT_EQ(feed_steady(classic, &t_s, &completed, 1).quality, Quality::kMeasured);  // 30 s
}

TEST(Classic, FewTicksAreAWarmUpHoweverLong) {
  ClassicOptions options;
  options.window_s = 0;
  Classic classic(options);
  classic.update(sample(0, 0, 4));
  EXPECT_EQ(classic.update(sample(100, 10, 4)).reason, Reason::kWarmUp);
  EXPECT_EQ(classic.update(sample(200, 20, 4)).reason, Reason::kWarmUp);
  EXPECT_EQ(classic.update(sample(300, 30, 4)).reason, Reason::kNone);
}

TEST(Classic, TheFloorOfOneIsOfMessagesOnly) {
  Classic classic;
  Estimate estimate;
  for (int i = 0; i < 12; ++i) estimate = classic.update(sample(5.0 * i, i, 2));  // 0.2 req/s
  EXPECT_DOUBLE_EQ(estimate.capacity.value(), 0.2);
  EXPECT_EQ(estimate.capacity_messages, 1.0);
}

TEST(Classic, TheMultiplierIsSecondsOfBacklogAndNeverNegative) {
  for (const auto& [multiplier, messages] : {std::pair(30.0, 60.0), {0.0, 1.0}, {-5.0, 1.0}}) {
    ClassicOptions options;
    options.multiplier = multiplier;
    Classic classic(options);
    double t_s = 0, completed = 0;
    const Estimate estimate = feed_steady(classic, &t_s, &completed);
    EXPECT_EQ(estimate.capacity, 2.0);
    EXPECT_EQ(estimate.capacity_messages, messages);
  }
}

TEST(Classic, IdlenessHoldsTheLastNumberForEver) {
  Steady steady;
  for (int i = 0; i < 100; ++i) {
    const Estimate idle = steady.classic.update(sample(steady.t_s + 5.0 * i, 1090, 0));
    EXPECT_EQ(idle.capacity, 2.0);
    EXPECT_EQ(idle.quality, Quality::kHeld);
    EXPECT_EQ(idle.reason, Reason::kIdle);
  }
}

TEST(Classic, ASecondWarmUpAfterIdlenessWithdrawsNothing) {
  Steady steady;
  for (int i = 0; i < 20; ++i) {
    steady.classic.update(sample(steady.t_s, 1090, 0));
    steady.t_s += 5;
  }
  const Estimate back = steady.classic.update(sample(steady.t_s, 1095, 1));
  EXPECT_EQ(back.capacity, 2.0);
  EXPECT_EQ(back.quality, Quality::kHeld);
  EXPECT_EQ(back.reason, Reason::kWarmUp);
}

TEST(Classic, B111AnIdleEngineIsUnknownNeverZero) {
  Classic classic;
  for (int i = 0; i < 50; ++i) {
    const Estimate estimate = classic.update(sample(30.0 * i, 0, 0));
    EXPECT_EQ(estimate.capacity, std::nullopt);
    EXPECT_EQ(estimate.capacity_messages, std::nullopt);
    EXPECT_EQ(estimate.reason, i == 0 ? Reason::kNoBaseline : Reason::kIdle);
  }
}

TEST(Classic, BusyWithoutACompletionHolds) {
  Steady steady;
  Estimate estimate;
  for (int i = 0; i < 13; ++i) {
    estimate = steady.classic.update(sample(steady.t_s + 5.0 * i, 1090, 4));
  }
  EXPECT_EQ(estimate.reason, Reason::kNoCompletion);
  EXPECT_EQ(estimate.quality, Quality::kHeld);
  EXPECT_GT(estimate.capacity.value(), 0);
}

TEST(Classic, ARequestThatCameAndWentBetweenSamplesOccupiedASlot) {
  Classic classic;
  Estimate estimate;
  for (int i = 0; i < 12; ++i) estimate = classic.update(sample(5.0 * i, 10.0 * i, 0));
  EXPECT_EQ(estimate.capacity, 2.0);
}

TEST(Classic, MissingSignalsChangeNothing) {
  Steady steady;
  const double t_s = steady.t_s;
  for (const EngineSignals& partial :
       {sample(t_s - 3, {}, 4), sample(t_s - 2, 1097, {}), sample(t_s - 1, {}, {})}) {
    const Estimate estimate = steady.classic.update(partial);
    EXPECT_EQ(estimate.capacity, 2.0);
    EXPECT_EQ(estimate.quality, Quality::kHeld);
    EXPECT_EQ(estimate.reason, Reason::kSignalMissing);
  }
  EXPECT_EQ(feed_steady(steady.classic, &steady.t_s, &steady.completed, 1).capacity, 2.0);
}

TEST(Classic, NonsenseDoesNotPoisonTheState) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf, -7.0}) {
    Steady steady;
    EXPECT_EQ(steady.classic.update(sample(steady.t_s - 3, bad, 4)).reason, Reason::kNotFinite);
    EXPECT_EQ(steady.classic.update(sample(steady.t_s - 2, 1095, bad)).reason, Reason::kNotFinite);
    const Estimate after = feed_steady(steady.classic, &steady.t_s, &steady.completed, 20);
    EXPECT_EQ(after.capacity, 2.0);
    EXPECT_EQ(after.quality, Quality::kMeasured);
  }
  Steady steady;
  EXPECT_EQ(steady.classic.update(sample(nan, 1095, 4)).reason, Reason::kNotFinite);
  EXPECT_EQ(feed_steady(steady.classic, &steady.t_s, &steady.completed, 1).capacity, 2.0);
}

TEST(Classic, NumbersAtTheEndOfTheRangeGiveNoInfinity) {
  Steady steady;
  const double most = std::numeric_limits<double>::max();
  steady.classic.update(sample(steady.t_s, most, most));
  const Estimate estimate = steady.classic.update(sample(steady.t_s + 5, most, most));
  EXPECT_TRUE(std::isfinite(estimate.capacity.value()));
}

// What follows: the metamorphic properties. Times are multiples of 1/4 s, so sums of them are
// exact.

struct Row {
  double t_s, completed, running;
};

// A whole number below n.
double below(std::mt19937& random, unsigned n) { return static_cast<double>(random() % n); }

std::vector<Row> random_rows(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::vector<Row> rows;
  Row row{0, 0, 0};
  for (int i = 0; i < count; ++i) {
    const bool idle = random() % 5 == 0;
    rows.push_back(row);
    row.t_s += 0.25 * (1 + below(random, 40));
    row.running = idle ? 0 : 1 + below(random, 30);
    row.completed += idle ? 0 : below(random, 12);
  }
  return rows;
}

std::vector<Estimate> run(const std::vector<Row>& rows, const ClassicOptions& options = {}) {
  Classic classic(options);
  std::vector<Estimate> estimates;
  for (const Row& row : rows) {
    estimates.push_back(classic.update(sample(row.t_s, row.completed, row.running)));
  }
  return estimates;
}

void expect_same(const Estimate& a, const Estimate& b) {
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.capacity_messages, b.capacity_messages);
  EXPECT_EQ(a.quality, b.quality);
  EXPECT_EQ(a.reason, b.reason);
}

TEST(Classic, IdleTicksInsertedAnywhereChangeNothing) {
  ClassicOptions options;
  options.window_s = 0;  // idle time ages what the window holds; that apart
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<Row> rows = random_rows(seed, 80);
    std::mt19937 random(seed);
    std::vector<Row> longer;
    std::vector<std::size_t> place;
    double idle_s = 0;
    for (const Row& row : rows) {
      place.push_back(longer.size());
      longer.push_back({row.t_s + idle_s, row.completed, row.running});
      for (double n = below(random, 3); n > 0; --n) {
        idle_s += 0.25 * (1 + below(random, 200));
        longer.push_back({row.t_s + idle_s, row.completed, 0});
      }
    }
    const auto want = run(rows, options), got = run(longer, options);
    for (std::size_t i = 0; i < rows.size(); ++i) expect_same(got[place[i]], want[i]);
  }
}

TEST(Classic, MoreSamplesOfAnIdleStretchChangeNothingWithAWindowToo) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<Row> rows = random_rows(seed, 120);
    std::vector<Row> denser;
    std::vector<std::size_t> place;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0 && rows[i].running == 0 && rows[i].completed == rows[i - 1].completed) {
        denser.push_back({(rows[i - 1].t_s + rows[i].t_s) / 2, rows[i].completed, 0});
      }
      place.push_back(denser.size());
      denser.push_back(rows[i]);
    }
    ASSERT_GT(denser.size(), rows.size());
    const auto want = run(rows), got = run(denser);
    for (std::size_t i = 0; i < rows.size(); ++i) expect_same(got[place[i]], want[i]);
  }
}

TEST(Classic, AShiftOfTimeChangesNothing) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<Row> rows = random_rows(seed, 100);
    std::vector<Row> later = rows;
    for (Row& row : later) row.t_s += 86'400.0 * 365;
    const auto want = run(rows), got = run(later);
    for (std::size_t i = 0; i < rows.size(); ++i) expect_same(got[i], want[i]);
  }
}

TEST(Classic, SplittingATickWithASteadyGaugeLeavesThroughputPerSlotUnchanged) {
  ClassicOptions options;
  options.window_s = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<Row> rows = random_rows(seed, 60);
    for (Row& row : rows) row.running = 8;  // p90 is 8 in both, so capacity / 8 is per slot
    std::vector<Row> split;
    std::vector<std::size_t> place;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0) {
        const double half = std::floor((rows[i].completed - rows[i - 1].completed) / 2);
        split.push_back({(rows[i - 1].t_s + rows[i].t_s) / 2, rows[i - 1].completed + half, 8});
      }
      place.push_back(split.size());
      split.push_back(rows[i]);
    }
    const auto want = run(rows, options), got = run(split, options);
    for (std::size_t i = 10; i < rows.size(); ++i) expect_same(got[place[i]], want[i]);
  }
}

TEST(Classic, AResetCostsExactlyOneTick) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<Row> rows = random_rows(seed, 100);
    const std::size_t at = 60;
    std::vector<Row> reset = rows;
    for (std::size_t i = at; i < reset.size(); ++i) reset[i].completed -= rows[at].completed;
    if (rows[at - 1].completed == 0) continue;
    // The same trace with that one tick's sample refused for another cause: the baseline moves,
    // nothing is measured.
    std::vector<Row> refused = rows;
    refused[at].running = -1;
    const auto got = run(reset), want = run(refused);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(got[i].capacity, want[i].capacity);
      if (i != at) {
        EXPECT_EQ(got[i].reason, want[i].reason);
      }
    }
    EXPECT_EQ(got[at].reason, Reason::kCounterReset);
  }
}

TEST(Classic, AllTimesDoubledHalveTheCapacity) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<Row> rows = random_rows(seed, 100);
    std::vector<Row> slower = rows;
    for (Row& row : slower) row.t_s *= 2;
    ClassicOptions doubled;
    doubled.window_s *= 2;
    doubled.warmup_s *= 2;
    const auto want = run(rows), got = run(slower, doubled);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(got[i].capacity.has_value(), want[i].capacity.has_value());
      if (want[i].capacity) {
        EXPECT_EQ(*got[i].capacity, *want[i].capacity / 2);
      }
      EXPECT_EQ(got[i].reason, want[i].reason);
    }
  }
}

}  // namespace
}  // namespace loadline::estimator
