#include "kube/pod_cache.h"

#include "tests/unit/kube/pod_fixture.h"

#include <gtest/gtest.h>

namespace loadline::kube {
namespace {

PodPtr pod(const std::string& name, const std::string& uid, const std::string& version = "1") {
  Pod value;
  value.namespace_name = "ns";
  value.name = name;
  value.uid = uid;
  value.resource_version = version;
  return std::make_shared<const Pod>(std::move(value));
}

TEST(PodCache, SortsByNamespaceThenName) {
  PodCache cache;
  Pod other;
  other.namespace_name = "a";
  other.name = "z";
  other.uid = "9";
  cache.apply(pod("b", "2"));
  cache.apply(pod("a", "1"));
  cache.apply(std::make_shared<const Pod>(other));
  EXPECT_EQ(names(cache.sorted()), "{z9,a1,b2}");
}

TEST(PodCache, TheSameStateIsNoChange) {
  PodCache cache;
  EXPECT_TRUE(cache.apply(pod("a", "1", "5")));
  EXPECT_FALSE(cache.apply(pod("a", "1", "5")));
  EXPECT_TRUE(cache.apply(pod("a", "1", "6")));
  EXPECT_TRUE(cache.apply(pod("a", "1", ""))) << "no version: nothing is known of equality";
  EXPECT_TRUE(cache.apply(pod("a", "1", "")));
}

TEST(PodCache, B42ARecreatedPodTakesTheNameAndTheOldOneIsForgotten) {
  PodCache cache;
  cache.apply(pod("llm-0", "u1", "5"));
  EXPECT_TRUE(cache.apply(pod("llm-0", "u2", "5")));
  EXPECT_EQ(names(cache.sorted()), "{llm-0u2}");
  EXPECT_FALSE(cache.remove(*pod("llm-0", "u1"))) << "the old pod's end, told late";
  EXPECT_EQ(names(cache.sorted()), "{llm-0u2}");
  EXPECT_TRUE(cache.remove(*pod("llm-0", "u2")));
  EXPECT_EQ(cache.size(), 0U);
}

TEST(PodCache, AUidIsThereOnce) {
  PodCache cache;
  cache.apply(pod("a", "1"));
  cache.apply(pod("b", "1"));
  EXPECT_EQ(names(cache.sorted()), "{b1}");
  EXPECT_TRUE(cache.apply(pod("a", "2")));
  EXPECT_TRUE(cache.remove(*pod("b", "1")));
  EXPECT_EQ(names(cache.sorted()), "{a2}");
}

TEST(PodCache, ReplacingForgetsTheRestAndKeepsUnchangedObjects) {
  PodCache cache;
  const PodPtr kept = pod("a", "1", "5");
  cache.apply(kept);
  cache.apply(pod("b", "2", "5"));
  cache.apply(pod("c", "3", "5"));
  cache.replace({pod("a", "1", "5"), pod("b", "22", "5"), pod("d", "4", "5")});
  EXPECT_EQ(names(cache.sorted()), "{a1,b22,d4}");
  EXPECT_EQ(cache.sorted()[0], kept);
  EXPECT_FALSE(cache.remove(*pod("b", "2")));
  EXPECT_FALSE(cache.remove(*pod("c", "3")));
}

}  // namespace
}  // namespace loadline::kube
