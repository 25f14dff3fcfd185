#include "base/backoff.h"

#include <gtest/gtest.h>

namespace loadline {
namespace {

using std::chrono::milliseconds;

BackoffPolicy policy() {
  BackoffPolicy p;
  p.first = milliseconds(100);
  p.most = milliseconds(1000);
  return p;
}

TEST(Backoff, StepsDoubleUpToTheMostAndStartAnewAfterASuccess) {
  BackoffPolicy exact = policy();
  exact.jitter = 0;
  Backoff backoff(exact, 1);
  for (const int want : {100, 200, 400, 800, 1000, 1000}) {
    EXPECT_EQ(backoff.next(), milliseconds(want));
  }
  backoff.reset();
  EXPECT_EQ(backoff.next(), milliseconds(100));
}

TEST(Backoff, PausesStayWithinTheJitterAndDiffer) {
  Backoff backoff(policy(), 7);
  for (int i = 0; i < 4; ++i) backoff.next();
  milliseconds least(1000), most(0);
  for (int i = 0; i < 1000; ++i) {
    const milliseconds pause = backoff.next();
    least = std::min(least, pause);
    most = std::max(most, pause);
  }
  EXPECT_GE(least, milliseconds(500));
  EXPECT_LE(most, milliseconds(1000));
  EXPECT_GT(most - least, milliseconds(400));
}

TEST(Backoff, TheSameSeedGivesTheSamePauses) {
  Backoff a(policy(), 3), b(policy(), 3), c(policy(), 4);
  bool differs = false;
  for (int i = 0; i < 10; ++i) {
    const milliseconds pause = a.next();
    EXPECT_EQ(pause, b.next());
    differs = differs || pause != c.next();
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace loadline
