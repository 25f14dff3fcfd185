#include "base/task_group.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace loadline {
namespace {

namespace asio = boost::asio;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

asio::awaitable<void> add_one(int& n) {
  ++n;
  co_return;
}

asio::awaitable<void> wait_for_ever(int& ended, std::string& error) {
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  timer.expires_at(asio::steady_timer::time_point::max());
  const auto [failed] = co_await timer.async_wait(kTuple);
  ++ended;
  error = failed.message();
}

// Does not look at the error: the co_await after the cancellation throws.
asio::awaitable<void> wait_twice() {
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  timer.expires_at(asio::steady_timer::time_point::max());
  co_await timer.async_wait(kTuple);
  co_await timer.async_wait(kTuple);
}

asio::awaitable<void> fail(const char* why) {
  if (why != nullptr) throw std::runtime_error(why);
  co_return;
}

asio::awaitable<void> join_into(TaskGroup& group, bool& joined) {
  co_await group.join();
  joined = true;
}

TEST(TaskGroup, RunsCountsAndJoins) {
  asio::io_context loop;
  TaskGroup group(loop.get_executor()), outer(loop.get_executor());
  int n = 0;
  for (int i = 0; i < 3; ++i) group.spawn("add", add_one(n));
  bool joined = false;
  outer.spawn("join", join_into(group, joined));
  loop.run();
  EXPECT_EQ(n, 3);
  EXPECT_EQ(group.size(), 0U);
  EXPECT_TRUE(joined);
}

TEST(TaskGroup, CancelEndsEveryWaitAndRefusesNewTasks) {
  asio::io_context loop;
  TaskGroup group(loop.get_executor()), outer(loop.get_executor());
  int ended = 0;
  std::string error;
  for (int i = 0; i < 100; ++i) group.spawn("wait", wait_for_ever(ended, error));
  bool joined = false;
  outer.spawn("join", join_into(group, joined));
  loop.poll();
  EXPECT_EQ(group.size(), 100U);
  EXPECT_FALSE(joined);
  group.cancel();
  int late = 0;
  group.spawn("late", add_one(late));
  loop.run();
  EXPECT_EQ(ended, 100);
  EXPECT_EQ(error, "Operation canceled");
  EXPECT_EQ(late, 0);
  EXPECT_TRUE(joined);
}

TEST(TaskGroup, AnExceptionIsLoggedAndEndsItsTaskAlone) {
  asio::io_context loop;
  TaskGroup group(loop.get_executor());
  int n = 0;
  testing::internal::CaptureStderr();
  group.spawn("broken", fail("a bug"));
  group.spawn("add", add_one(n));
  loop.run();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find(R"("task":"broken","error":"a bug")"), std::string::npos) << log;
  EXPECT_EQ(n, 1);
  EXPECT_EQ(group.size(), 0U);
}

TEST(TaskGroup, EndingByCancellationIsNoError) {
  asio::io_context loop;
  TaskGroup group(loop.get_executor());
  group.spawn("waits", wait_twice());
  loop.poll();
  testing::internal::CaptureStderr();
  group.cancel();
  loop.restart();
  loop.run();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(group.size(), 0U);
}

}  // namespace
}  // namespace loadline
