#include "estimator/estimate.h"

#include <gtest/gtest.h>

#include <set>

namespace loadline::estimator {
namespace {

TEST(Estimate, EveryQualityAndReasonHasItsOwnWord) {
  std::set<std::string_view> words;
  for (const Quality quality : {Quality::kUnknown, Quality::kMeasured, Quality::kHeld}) {
    EXPECT_TRUE(words.insert(to_string(quality)).second);
  }
  for (int i = 0; i <= static_cast<int>(Reason::kNotFinite); ++i) {
    EXPECT_TRUE(words.insert(to_string(static_cast<Reason>(i))).second) << i;
  }
  EXPECT_EQ(to_string(Reason::kNone), "");
  EXPECT_EQ(to_string(Reason::kNoBaseline), "no_baseline");
  EXPECT_EQ(to_string(Reason::kWarmUp), "warm_up");
}

}  // namespace
}  // namespace loadline::estimator
