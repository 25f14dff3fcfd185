#include "base/snapshot.h"

#include <gtest/gtest.h>

#include <thread>

namespace loadline {
namespace {

TEST(Snapshot, AReaderKeepsWhatItGot) {
  Snapshot<int> snapshot(std::make_shared<const int>(1));
  const auto old = snapshot.get();
  snapshot.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*old, 1);
  EXPECT_EQ(*snapshot.get(), 2);
}

struct AsksWhenItDies {
  ~AsksWhenItDies() {
    if (snapshot != nullptr) seen = snapshot->get() != nullptr;
  }
  Snapshot<AsksWhenItDies>* snapshot = nullptr;
  bool& seen;
};

TEST(Snapshot, TheOldValueDiesOutsideTheLock) {
  bool seen = false;
  auto first = std::make_shared<AsksWhenItDies>(AsksWhenItDies{nullptr, seen});
  AsksWhenItDies* old = first.get();
  Snapshot<AsksWhenItDies> snapshot(std::move(first));
  old->snapshot = &snapshot;
  snapshot.publish(std::make_shared<AsksWhenItDies>(AsksWhenItDies{nullptr, seen}));
  EXPECT_TRUE(seen) << "and this test did not hang";
}

TEST(Snapshot, ReadersOnOtherThreadsSeeWholeValuesInOrder) {
  struct Pair {
    int a, b;
  };
  Snapshot<Pair> snapshot(std::make_shared<const Pair>(Pair{0, 0}));
  std::thread reader([&] {
    int last = 0;
    while (last < 10'000) {
      const auto pair = snapshot.get();
      ASSERT_EQ(pair->a, pair->b);
      ASSERT_GE(pair->a, last);
      last = pair->a;
    }
  });
  for (int i = 1; i <= 10'000; ++i) snapshot.publish(std::make_shared<const Pair>(Pair{i, i}));
  reader.join();
}

}  // namespace
}  // namespace loadline
