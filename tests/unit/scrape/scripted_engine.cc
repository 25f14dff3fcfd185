#include "tests/unit/scrape/scripted_engine.h"

#include "base/clock.h"
#include "scrape/wanted_names.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <optional>

namespace loadline::scrape {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::chrono::seconds kPatience{60};

}  // namespace

ScriptedEngine::ScriptedEngine(asio::io_context& loop, Script script)
    : loop_(loop),
      script_(std::move(script)),
      acceptor_(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()),
      tasks_(loop.get_executor()) {
  tasks_.spawn("accept", accept());
}

ScriptedEngine::~ScriptedEngine() {
  acceptor_.close();
  for (const auto& peer : open_) peer->close();
  run(loop_, tasks_.join());
}

asio::awaitable<void> ScriptedEngine::accept() {
  for (;;) {
    auto peer = std::make_shared<tcp::socket>(loop_);
    const auto [error] =
        co_await acceptor_.async_accept(*peer, asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
    ++connections_;
    open_.push_back(peer);
    tasks_.spawn("serve", serve(peer));
  }
}

asio::awaitable<void> ScriptedEngine::serve(std::shared_ptr<tcp::socket> peer) {
  std::string received;
  for (;;) {
    auto buffer = asio::dynamic_buffer(received);
    const auto [error, bytes] = co_await asio::async_read_until(
        *peer, buffer, "\r\n\r\n", asio::as_tuple(asio::use_awaitable));
    if (error) break;
    heads_.push_back(received.substr(0, bytes));
    received.erase(0, bytes);
    const std::string& head = heads_.back();
    const auto from = head.find(' ') + 1;
    paths_.push_back(head.substr(from, head.find(' ', from) - from));
    const ScriptedAnswer answer = script_(paths_.back());
    const auto out = asio::buffer(answer.bytes);
    co_await asio::async_write(*peer, out, asio::as_tuple(asio::use_awaitable));
    if (answer.then == ScriptedAnswer::Then::kClose) break;
  }
  boost::system::error_code ignored;
  peer->shutdown(tcp::socket::shutdown_both, ignored);
  peer->close(ignored);
  open_.remove(peer);
  ++ended_;
}

void ScriptedEngine::send_to_all(const std::string& bytes) {
  for (const auto& peer : open_) {
    boost::system::error_code ignored;
    asio::write(*peer, asio::buffer(bytes), ignored);
  }
}

std::string page_answer(const std::string& body, const std::string& more_headers) {
  return "HTTP/1.1 200 OK\r\ncontent-length: " + std::to_string(body.size()) + "\r\n" +
         more_headers + "\r\n" + body;
}

Target target_of(std::uint16_t port, std::string id) {
  Target target;
  target.id = std::move(id);
  target.name = "ns/llm-0";
  target.host = "127.0.0.1";
  target.port = port;
  target.wanted =
      std::make_shared<const WantedNames>(std::vector<std::string>{"vllm:num_requests_running"});
  target.interval = kPatience;
  target.timeout = kPatience;
  return target;
}

bool run_until(asio::io_context& loop, const std::function<bool()>& condition) {
  const SteadyTime end = system_clock().steady_now() + kPatience;
  while (!condition()) {
    if (system_clock().steady_now() > end) return false;
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(50));
  }
  return true;
}

ScrapeResult run(asio::io_context& loop, asio::awaitable<ScrapeResult> scrape) {
  std::optional<ScrapeResult> result;
  auto done = [&](std::exception_ptr error, ScrapeResult value) {
    EXPECT_FALSE(error);
    result.emplace(std::move(value));
  };
  asio::co_spawn(loop, std::move(scrape), std::move(done));
  EXPECT_TRUE(run_until(loop, [&] { return result.has_value(); }));
  return std::move(*result);
}

void run(asio::io_context& loop, asio::awaitable<void> task) {
  bool ended = false;
  auto done = [&](std::exception_ptr error) {
    EXPECT_FALSE(error);
    ended = true;
  };
  asio::co_spawn(loop, std::move(task), std::move(done));
  EXPECT_TRUE(run_until(loop, [&] { return ended; }));
}

}  // namespace loadline::scrape
