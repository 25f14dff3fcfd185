#include "scrape/schedule.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace loadline::scrape {
namespace {

using namespace std::chrono_literals;

const SteadyTime kNow = SteadyTime() + 1'000'000'123ms;
constexpr auto kInterval = 5'000ms;

std::string id_of(int i) { return "0b5c8a0e-uid-" + std::to_string(i); }

TEST(Schedule, TheFirstScrapeIsWithinATenthOfTheInterval) {
  for (int i = 0; i < 1000; ++i) {
    const SteadyTime first = first_scrape(id_of(i), kInterval, kNow);
    EXPECT_GE(first, kNow);
    EXPECT_LT(first, kNow + kInterval / 10);
  }
}

TEST(Schedule, ScrapesAreOneIntervalApartWithoutDriftHoweverLateTheyBegin) {
  SteadyTime at = next_scrape("a", kInterval, kNow, kNow);
  const SteadyTime begin = at;
  for (int i = 1; i <= 1000; ++i) {
    const SteadyTime started = at + std::chrono::milliseconds(i % 7);
    at = next_scrape("a", kInterval, started, started + 300ms);
    ASSERT_EQ(at, begin + i * kInterval);
  }
}

TEST(Schedule, MissedSlotsAreSkipped) {
  const SteadyTime slot = next_scrape("a", kInterval, kNow, kNow);
  EXPECT_EQ(next_scrape("a", kInterval, slot, slot + 12'000ms), slot + 15'000ms);
}

TEST(Schedule, TheSecondScrapeIsAtTheTargetsPhaseAndNotTooNearToTheFirst) {
  for (int i = 0; i < 1000; ++i) {
    const SteadyTime first = first_scrape(id_of(i), kInterval, kNow);
    const SteadyTime second = next_scrape(id_of(i), kInterval, first, first + 10ms);
    EXPECT_GE(second - first, kInterval / 2);
    EXPECT_LE(second - first, kInterval * 3 / 2);
    EXPECT_EQ(next_scrape(id_of(i), kInterval, second, second), second + kInterval);
  }
}

TEST(Schedule, TargetsSpreadOverTheInterval) {
  std::multiset<int> tenths;
  for (int i = 0; i < 1000; ++i) {
    const auto phase = next_scrape(id_of(i), kInterval, kNow, kNow).time_since_epoch() % kInterval;
    tenths.insert(static_cast<int>(phase / (kInterval / 10)));
  }
  for (int tenth = 0; tenth < 10; ++tenth) {
    EXPECT_GT(tenths.count(tenth), 60u) << tenth;
    EXPECT_LT(tenths.count(tenth), 140u) << tenth;
  }
}

}  // namespace
}  // namespace loadline::scrape
