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

}  // namespace
}  // namespace loadline
