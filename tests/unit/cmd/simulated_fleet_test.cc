#include "cmd/simulated_fleet.h"

#include "net/http_client.h"
#include "tests/support/manual_clock.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <string>

namespace loadline::cmd {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct SimulatedFleetTest : testing::Test {
  // Runs the test's coroutine, stops the fleet, and waits until nothing is left on the loop.
  void run(asio::awaitable<void> test) {
    asio::co_spawn(io, std::move(test), [this](std::exception_ptr error) {
      ASSERT_EQ(error, nullptr);
      asio::co_spawn(io, fleet.stop(), [](std::exception_ptr e) { ASSERT_EQ(e, nullptr); });
    });
    io.run();
  }

  // The page's status, and its body in `body`. 0: nobody listens.
  asio::awaitable<int> get(std::string address, std::string target) {
    const std::size_t colon = address.rfind(':');
    net::Endpoint endpoint;
    endpoint.host = address.substr(0, colon);
    endpoint.port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
    net::HttpClient client(io.get_executor(), endpoint, net::HttpLimits());
    net::HttpRequest request("GET", target);
    const Result<net::HttpResponse> got = co_await client.request(std::move(request));
    body = got ? got->body : got.error().message;
    co_return got ? got->status : 0;
  }

  double on_page(const std::string& name) {
    const std::size_t at = body.find('\n' + name + '{');
    if (at == std::string::npos) return -1;
    return std::stod(body.substr(body.find("} ", at) + 2));
  }

  asio::io_context io;
  ManualClock clock;
  SimulatedFleet fleet{io.get_executor(), clock};
  std::string body;
};

TEST_F(SimulatedFleetTest, AnEngineServesThePageOfThisMoment) {
  const auto test = [](SimulatedFleetTest* self) -> asio::awaitable<void> {
    const Result<std::string> address = self->fleet.add("127.0.0.1:0");
    EXPECT_TRUE(address.has_value());
    if (!address) co_return;
    EXPECT_TRUE(self->fleet.set_rate(3.0).has_value());
    self->clock.advance(seconds(60));
    EXPECT_EQ(co_await self->get(*address, "/metrics"), 200);
    const double first = self->on_page("vllm:generation_tokens_total");
    EXPECT_GT(first, 1000);
    EXPECT_GT(self->on_page("vllm:e2e_request_latency_seconds_count"), 100);
    EXPECT_NE(self->body.find("process_start_time_seconds 1767323045.0"), std::string::npos);
    self->clock.advance(seconds(5));
    EXPECT_EQ(co_await self->get(*address, "/metrics"), 200);
    EXPECT_GT(self->on_page("vllm:generation_tokens_total"), first);
    EXPECT_EQ(co_await self->get(*address, "/health"), 200);
    EXPECT_EQ(co_await self->get(*address, "/v1/models"), 404);
  };
  run(test(this));
}

TEST_F(SimulatedFleetTest, LoadIsSharedAndShown) {
  const auto test = [](SimulatedFleetTest* self) -> asio::awaitable<void> {
    const std::string any = "127.0.0.1:0";
    EXPECT_TRUE(self->fleet.add(any).has_value());
    EXPECT_TRUE(self->fleet.add(any).has_value());
    self->fleet.set_rate([](double t_s) { return t_s < 10 ? 0.0 : 40.0; });
    self->clock.advance(seconds(10));
    const Result<std::string> late = self->fleet.add(any);  // brings the fleet to now
    EXPECT_TRUE(late.has_value());
    EXPECT_EQ(self->fleet.counters().offered, 0);
    self->clock.advance(seconds(10));
    if (late) {
      EXPECT_EQ(co_await self->get(*late, "/metrics"), 200);
    }
    const std::vector<SimulatedEngine> engines = self->fleet.engines();
    EXPECT_EQ(engines.size(), 3u);
    for (const SimulatedEngine& engine : engines) {
      EXPECT_TRUE(engine.ready);
      EXPECT_GT(engine.running, 0);
      EXPECT_GT(engine.waiting, 20);
      EXPECT_GT(engine.completed, 10);
    }
  };
  run(test(this));
}

TEST_F(SimulatedFleetTest, ADelayedEngineListensOnlyWhenItIsReady) {
  const auto test = [](SimulatedFleetTest* self) -> asio::awaitable<void> {
    // A port that was free a moment ago.
    const Result<std::string> lent = self->fleet.add("127.0.0.1:0");
    EXPECT_TRUE(lent.has_value());
    if (!lent) co_return;
    const std::string address = *lent;
    const Status removed = co_await self->fleet.remove(address);
    EXPECT_TRUE(removed.has_value());

    EXPECT_TRUE(self->fleet.add(address, seconds(30)).has_value());
    EXPECT_FALSE(self->fleet.engines().front().ready);
    EXPECT_EQ(co_await self->get(address, "/metrics"), 0);
    self->clock.advance(seconds(31));
    EXPECT_TRUE(self->fleet.set_rate(1.0).has_value());  // brings the fleet to now
    EXPECT_TRUE(self->fleet.engines().front().ready);
    EXPECT_EQ(co_await self->get(address, "/metrics"), 200);
  };
  run(test(this));
}

TEST_F(SimulatedFleetTest, ARemovedEngineIsGoneWithItsRequests) {
  const auto test = [](SimulatedFleetTest* self) -> asio::awaitable<void> {
    const Result<std::string> address = self->fleet.add("127.0.0.1:0");
    EXPECT_TRUE(address.has_value());
    if (!address) co_return;
    EXPECT_TRUE(self->fleet.set_rate(10.0).has_value());
    self->clock.advance(seconds(20));
    const Status removed = co_await self->fleet.remove(*address);
    EXPECT_TRUE(removed.has_value());
    EXPECT_GT(self->fleet.counters().lost, 0);
    EXPECT_TRUE(self->fleet.engines().empty());
    EXPECT_EQ(co_await self->get(*address, "/metrics"), 0);
    const Status again = co_await self->fleet.remove(*address);
    EXPECT_FALSE(again.has_value());
    if (!again) {
      EXPECT_EQ(again.error().code, Code::kNotFound);
    }
  };
  run(test(this));
}

TEST_F(SimulatedFleetTest, WhatCannotBeIsRefusedWithACure) {
  const auto test = [](SimulatedFleetTest* self) -> asio::awaitable<void> {
    for (const char* bad : {"", "127.0.0.1", "localhost:80", "127.0.0.1:", "127.0.0.1:70000",
                            "127.0.0.1:8x", "1.2.3:80"}) {
      const Result<std::string> got = self->fleet.add(bad);
      EXPECT_FALSE(got.has_value()) << bad;
      if (!got) {
        EXPECT_EQ(got.error().code, Code::kBadRequest) << bad;
      }
    }
    EXPECT_FALSE(self->fleet.add("127.0.0.1:0", seconds(1)).has_value());
    const Result<std::string> address = self->fleet.add("127.0.0.1:0");
    EXPECT_TRUE(address.has_value());
    if (!address) co_return;
    const Result<std::string> twice = self->fleet.add(*address);
    EXPECT_FALSE(twice.has_value());
    if (!twice) {
      EXPECT_EQ(twice.error().code, Code::kConflict);
    }
    EXPECT_EQ(self->fleet.engines().size(), 1u);
    for (const double rate : {-1.0, 1e9, std::nan("")}) {
      EXPECT_FALSE(self->fleet.set_rate(rate).has_value());
    }
  };
  run(test(this));
}

}  // namespace
}  // namespace loadline::cmd
