#include "base/clock.h"

#include <gtest/gtest.h>

namespace loadline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Clock, Rfc3339IsUtcWithItsSubSecondsCutOff) {
  const WallTime epoch{};
  EXPECT_EQ(rfc3339(epoch), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(epoch + milliseconds(999)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(epoch - milliseconds(1)), "1969-12-31T23:59:59Z");
  EXPECT_EQ(rfc3339(epoch + seconds(1'767'323'045)), "2026-01-02T03:04:05Z");
  EXPECT_EQ(rfc3339(epoch + seconds(951'782'400)), "2000-02-29T00:00:00Z");
}

TEST(Clock, SecondsKeepTheirFraction) {
  EXPECT_DOUBLE_EQ(to_seconds(SteadyTime(milliseconds(1500))), 1.5);
}

TEST(Clock, TheSteadyClockDoesNotGoBack) {
  const SteadyTime first = system_clock().steady_now();
  EXPECT_GE(system_clock().steady_now(), first);
}

}  // namespace
}  // namespace loadline
