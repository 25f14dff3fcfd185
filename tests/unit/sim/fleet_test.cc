#include "sim/fleet.h"

#include <gtest/gtest.h>

#include <cmath>

namespace loadline::sim {
namespace {

FleetOptions demo_options() {
  FleetOptions options;
  options.engine = demo_engine();
  options.sizes = small_requests();
  return options;
}

std::int64_t completed(const Fleet& fleet) {
  std::int64_t sum = 0;
  for (const Fleet::Member& member : fleet.members()) {
    if (member.engine) sum += member.engine->completed();
  }
  return sum;
}

std::int64_t in_flight(const Fleet& fleet) {
  std::int64_t sum = 0;
  for (const Fleet::Member& member : fleet.members()) {
    if (member.engine) sum += static_cast<std::int64_t>(member.engine->in_flight());
  }
  return sum;
}

TEST(Fleet, EveryRequestIsAccountedFor) {
  Fleet fleet(demo_options(), 1000);
  for (const char* name : {"a", "b", "c"}) fleet.add(name);
  fleet.set_rate(20);
  fleet.advance_to(1060);
  fleet.remove("b");
  fleet.advance_to(1120);
  const FleetCounters& counters = fleet.counters();
  EXPECT_NEAR(static_cast<double>(counters.offered), 20 * 120, 4 * std::sqrt(2400.0));
  EXPECT_GT(counters.lost, 0);
  EXPECT_EQ(counters.refused, 0);
  EXPECT_EQ(counters.routed, counters.offered);
  std::int64_t routed = 0;
  for (const Fleet::Member& member : fleet.members()) routed += member.routed;
  EXPECT_LT(routed, counters.offered);  // what b had is gone with it
  EXPECT_EQ(completed(fleet) + in_flight(fleet), routed);
}

TEST(Fleet, TheLeastLoadedEngineIsTaken) {
  Fleet fleet(demo_options(), 0);
  for (const char* name : {"a", "b", "c", "d"}) fleet.add(name);
  fleet.set_rate(4);
  fleet.advance_to(300);
  for (const Fleet::Member& member : fleet.members()) {
    EXPECT_NEAR(static_cast<double>(member.routed), 300, 30) << member.name;
  }
  fleet.add("late");
  fleet.set_rate(100);
  fleet.advance_to(303);
  std::size_t least = 10'000, most = 0;
  for (const Fleet::Member& member : fleet.members()) {
    least = std::min(least, member.engine->in_flight());
    most = std::max(most, member.engine->in_flight());
  }
  EXPECT_LE(most - least, 8u);
}

TEST(Fleet, AnEngineIsNotAskedBeforeItIsReady) {
  Fleet fleet(demo_options(), 0);
  fleet.add("a", 30);
  fleet.set_rate(1);
  fleet.advance_to(29);
  EXPECT_EQ(fleet.find("a")->engine, nullptr);
  EXPECT_EQ(fleet.counters().refused, fleet.counters().offered);
  EXPECT_GT(fleet.counters().refused, 0);
  const std::int64_t refused = fleet.counters().refused;
  fleet.advance_to(30);
  ASSERT_NE(fleet.find("a")->engine, nullptr);
  fleet.advance_to(60);
  EXPECT_GT(completed(fleet), 10);
  EXPECT_LE(fleet.counters().refused, refused + 5);  // those of the last second before
}

TEST(Fleet, NamesAreTakenOnceAndUnknownOnesNotRemoved) {
  Fleet fleet(demo_options(), 0);
  EXPECT_TRUE(fleet.add("a"));
  EXPECT_FALSE(fleet.add("a"));
  EXPECT_FALSE(fleet.remove("b"));
  EXPECT_TRUE(fleet.remove("a"));
  EXPECT_EQ(fleet.find("a"), nullptr);
  EXPECT_TRUE(fleet.add("a"));
}

TEST(Fleet, TheRateMayBeAFunctionOfTime) {
  Fleet fleet(demo_options(), 0);
  fleet.add("a");
  fleet.set_rate([](double t_s) { return t_s < 50 ? 0.0 : 2.0; });
  fleet.advance_to(50);
  EXPECT_EQ(fleet.counters().offered, 0);
  fleet.advance_to(150);
  EXPECT_NEAR(static_cast<double>(fleet.counters().offered), 200, 57);
}

TEST(Fleet, AFullRouterRefuses) {
  FleetOptions options = demo_options();
  options.most_in_flight = 10;
  Fleet fleet(options, 0);
  fleet.add("a");
  fleet.set_rate(1000);
  fleet.advance_to(10);
  EXPECT_LE(in_flight(fleet), 10);
  EXPECT_GT(fleet.counters().refused, 9000);
  EXPECT_EQ(fleet.counters().routed + fleet.counters().refused, fleet.counters().offered);
}

TEST(Fleet, TheSameSeedGivesTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    FleetOptions options = demo_options();
    options.seed = seed;
    Fleet fleet(options, 0);
    fleet.add("a");
    fleet.add("b", 3);
    fleet.set_rate(5);
    for (int i = 1; i <= 400; ++i) fleet.advance_to(0.1 * i);
    return std::pair(completed(fleet), fleet.find("a")->engine->histograms().e2e.sum());
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1).second, run(2).second);
}

}  // namespace
}  // namespace loadline::sim
