// Owns the coroutines of one component: spawns, counts, cancels and waits for them. No coroutine
// runs outside a group. Loop-bound: every call on the executor's thread. An exception that leaves a
// task is a bug: it is logged and counted, and ends that task alone.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace loadline {

class TaskGroup {
 public:
  explicit TaskGroup(boost::asio::any_io_executor executor);
  // REQUIRES: joined, or the io_context will not run again.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts the task; its frame lives until it ends. Refused (the task is dropped) after cancel().
  void spawn(std::string name, boost::asio::awaitable<void> task);

  // Asks every task to stop (terminal cancellation); awaits in them end with operation_aborted.
  void cancel();

  // Ends when the last task has.
  boost::asio::awaitable<void> join();

  std::size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace loadline
