// Runs one coroutine on a loop of its own, to its end, and gives what it returned.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace loadline {

template <class T>
T run_to_end(boost::asio::awaitable<T> task) {
  boost::asio::io_context context;
  std::optional<T> result;
  auto ended = [&](std::exception_ptr error, T value) {
    if (error) std::rethrow_exception(error);
    result.emplace(std::move(value));
  };
  boost::asio::co_spawn(context, std::move(task), ended);
  context.run();
  return std::move(result.value());
}

}  // namespace loadline
