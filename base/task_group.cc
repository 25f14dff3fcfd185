#include "base/task_group.h"

#include "base/log.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <list>
#include <utility>

namespace loadline {

namespace asio = boost::asio;

struct TaskGroup::State {
  explicit State(asio::any_io_executor e) : executor(std::move(e)), empty(executor) {
    empty.expires_at(asio::steady_timer::time_point::max());
  }
  asio::any_io_executor executor;
  std::list<asio::cancellation_signal> signals;
  asio::steady_timer empty;  // cancelled when the last task ends
  bool cancelled = false;
};

TaskGroup::TaskGroup(asio::any_io_executor executor)
    : state_(std::make_shared<State>(std::move(executor))) {}

TaskGroup::~TaskGroup() = default;

void TaskGroup::spawn(std::string name, asio::awaitable<void> task) {
  if (state_->cancelled) return;
  const auto signal = state_->signals.emplace(state_->signals.end());
  auto ended = [state = state_, signal, name = std::move(name)](std::exception_ptr error) {
    if (error) {
      try {
        std::rethrow_exception(error);
      } catch (const boost::system::system_error& e) {
        // How a cancelled coroutine ends at its next co_await: asked for, no bug.
        if (!state->cancelled || e.code() != asio::error::operation_aborted) {
          log_error("task ended by an exception", kv("task", name), kv("error", e.what()));
        }
      } catch (const std::exception& e) {
        log_error("task ended by an exception", kv("task", name), kv("error", e.what()));
      }
    }
    state->signals.erase(signal);
    if (state->signals.empty()) state->empty.cancel();
  };
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(signal->slot(), std::move(ended)));
}

void TaskGroup::cancel() {
  state_->cancelled = true;
  // emit() may end a task, and its handler erases the signal: step on before emitting.
  for (auto it = state_->signals.begin(); it != state_->signals.end();) {
    auto& signal = *it++;
    signal.emit(asio::cancellation_type::terminal);
  }
}

asio::awaitable<void> TaskGroup::join() {
  const auto state = state_;
  while (!state->signals.empty()) {
    co_await state->empty.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

std::size_t TaskGroup::size() const { return state_->signals.size(); }

}  // namespace loadline
