#include "base/nearest_name.h"

#include <gtest/gtest.h>

namespace loadline {
namespace {

TEST(NearestName, FindsATypingErrorAndNothingElse) {
  const std::vector<std::string> known = {"requests_waiting", "requests_running", "kv"};
  EXPECT_EQ(nearest_name("request_waiting", known), "requests_waiting");
  EXPECT_EQ(nearest_name("requests_runing", known), "requests_running");
  EXPECT_EQ(nearest_name("kw", known), "kv");
  EXPECT_EQ(nearest_name("something else", known), "");
  EXPECT_EQ(nearest_name("ab", known), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(NearestName, CaseAndAMissingEndMakeNoDifference) {
  const std::vector<std::string> known = {"running", "completed_total", "t_s"};
  EXPECT_EQ(nearest_name("RUNNING", known), "running");
  EXPECT_EQ(nearest_name("T_S", known), "t_s");
  EXPECT_EQ(nearest_name("completed", known), "completed_total") << "begun, however far its end";
  EXPECT_EQ(nearest_name("", known), "");
}

}  // namespace
}  // namespace loadline
