// A Transport that answers from a script, and a way to run one coroutine to its end, for tests.
#pragma once

#include "kube/transport.h"
#include "tests/support/run_to_end.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loadline::kube {

class ScriptedTransport final : public Transport {
 public:
  struct Request {
    std::string method, path, accept, body;
  };

  void answer(int status, std::string body) {
    ApiResponse response;
    response.status = status;
    response.content_type = "application/json";
    response.body = std::move(body);
    script_.emplace_back(std::move(response));
  }
  void fail(Error error) { script_.emplace_back(std::move(error)); }
  const std::vector<Request>& requests() const { return requests_; }

  boost::asio::awaitable<Result<ApiResponse>> request(std::string method,
                                                      std::string path_and_query,
                                                      std::string accept,
                                                      std::string json_body) override {
    requests_.push_back(
        {std::move(method), std::move(path_and_query), std::move(accept), std::move(json_body)});
    if (script_.empty()) co_return Error(Code::kInternal, "the script is at its end");
    auto next = std::move(script_.front());
    script_.pop_front();
    co_return next;
  }
  boost::asio::awaitable<Result<int>> stream(std::string, std::string, const StreamSink&) override {
    co_return Error(Code::kInternal, "no streams in this script");
  }

 private:
  std::deque<Result<ApiResponse>> script_;
  std::vector<Request> requests_;
};

}  // namespace loadline::kube
