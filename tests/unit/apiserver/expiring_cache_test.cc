#include "apiserver/expiring_cache.h"

#include <gtest/gtest.h>

namespace loadline::apiserver {
namespace {

SteadyTime at(int seconds) { return SteadyTime(std::chrono::seconds(seconds)); }

TEST(ExpiringCache, EntriesEndAtTheirTime) {
  ExpiringCache<int> cache(4);
  cache.put("a", 1, at(10));
  ASSERT_NE(cache.find("a", at(9)), nullptr);
  EXPECT_EQ(*cache.find("a", at(9)), 1);
  EXPECT_EQ(cache.find("a", at(10)), nullptr);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(ExpiringCache, TheLeastRecentlyUsedMakesRoom) {
  ExpiringCache<int> cache(2);
  cache.put("a", 1, at(10));
  cache.put("b", 2, at(10));
  EXPECT_NE(cache.find("a", at(0)), nullptr);
  cache.put("c", 3, at(10));
  EXPECT_EQ(cache.find("b", at(0)), nullptr);
  EXPECT_NE(cache.find("a", at(0)), nullptr);
  EXPECT_NE(cache.find("c", at(0)), nullptr);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(ExpiringCache, ALimitOfNothingKeepsOne) {
  ExpiringCache<int> cache(0);
  cache.put("a", 1, at(10));
  cache.put("b", 2, at(10));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_NE(cache.find("b", at(0)), nullptr);
}

TEST(ExpiringCache, AKeyPutAgainIsReplaced) {
  ExpiringCache<int> cache(2);
  cache.put("a", 1, at(10));
  cache.put("a", 2, at(20));
  EXPECT_EQ(cache.size(), 1u);
  ASSERT_NE(cache.find("a", at(15)), nullptr);
  EXPECT_EQ(*cache.find("a", at(15)), 2);
}

}  // namespace
}  // namespace loadline::apiserver
