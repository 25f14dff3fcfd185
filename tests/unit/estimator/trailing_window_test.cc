#include "estimator/trailing_window.h"

#include <gtest/gtest.h>

#include <vector>

namespace loadline::estimator {
namespace {

struct Entry {
  double t_s;
};

std::vector<double> times(const TrailingWindow<Entry>& window) {
  std::vector<double> result;
  for (const Entry& entry : window.entries()) result.push_back(entry.t_s);
  return result;
}

TEST(TrailingWindow, AnEntryOfExactlyTheWindowsAgeStays) {
  TrailingWindow<Entry> window(60);
  for (const double t : {0.0, 10.0, 20.0}) window.push({t});
  window.evict(70);
  EXPECT_EQ(times(window), (std::vector<double>{10, 20}));
  window.evict(1000);
  EXPECT_TRUE(window.entries().empty());
}

TEST(TrailingWindow, WindowZeroKeepsEverything) {
  TrailingWindow<Entry> window(0);
  window.push({0});
  window.evict(1e12);
  EXPECT_EQ(times(window), std::vector<double>{0});
}

TEST(TrailingWindow, AnOldEntryBehindAYoungerOneGoesToo) {
  TrailingWindow<Entry> window(10);
  for (const double t : {100.0, 50.0, 101.0}) window.push({t});
  window.evict(105);
  EXPECT_EQ(times(window), (std::vector<double>{100, 101}));
}

TEST(TrailingWindow, IsBoundedWhateverItsWidth) {
  TrailingWindow<Entry> window(0);
  const std::size_t pushed = TrailingWindow<Entry>::kMostEntries + 3;
  for (std::size_t i = 0; i < pushed; ++i) window.push({static_cast<double>(i)});
  EXPECT_EQ(window.entries().size(), TrailingWindow<Entry>::kMostEntries);
  EXPECT_EQ(window.entries().front().t_s, 3);
}

}  // namespace
}  // namespace loadline::estimator
