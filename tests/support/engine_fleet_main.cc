// Simulated engines for the end-to-end tests, commanded on stdin, a command a line, each answered
// by one line on stdout that begins with ok or error:
//   add HOST:PORT [DELAY_S]   ok HOST:PORT; port 0 takes any free one
//   remove HOST:PORT          ok; its requests in flight are lost
//   rate R                    ok; requests a second over all engines
//   quit                      ok; so does the end of the input
#include "base/clock.h"
#include "cmd/simulated_fleet.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <cmath>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

namespace {

namespace asio = boost::asio;
using loadline::Result;
using loadline::Status;
using loadline::cmd::SimulatedFleet;

std::string add(SimulatedFleet& fleet, const std::string& address, double delay_s) {
  if (!(delay_s >= 0 && delay_s <= 86'400)) return "error the delay must be 0 to 86400 seconds";
  const auto delay = std::chrono::milliseconds(std::llround(delay_s * 1000));
  const Result<std::string> added = fleet.add(address, delay);
  return added ? "ok " + *added : "error " + added.error().message;
}

std::string outcome(const Status& status) {
  return status ? "ok" : "error " + status.error().message;
}

// On the fleet's loop.
asio::awaitable<std::string> execute(SimulatedFleet* fleet, std::string line) {
  std::istringstream words(line);
  std::string verb, address, rest;
  double number = 0;
  words >> verb;
  if (verb == "add" && words >> address) {
    words >> std::ws;
    if (words.eof()) co_return add(*fleet, address, 0);
    if (words >> number && !(words >> rest)) co_return add(*fleet, address, number);
  } else if (verb == "remove" && words >> address && !(words >> rest)) {
    const Status removed = co_await fleet->remove(std::move(address));
    co_return outcome(removed);
  } else if (verb == "rate" && words >> number && !(words >> rest)) {
    co_return outcome(fleet->set_rate(number));
  }
  co_return "error say: add HOST:PORT [DELAY_S], remove HOST:PORT, rate R, or quit";
}

}  // namespace

int main() {
  asio::io_context io(1);
  SimulatedFleet fleet(io.get_executor(), loadline::system_clock());
  auto guard = asio::make_work_guard(io);
  std::thread loop([&] { io.run(); });
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    auto command = execute(&fleet, line);
    auto answer = asio::co_spawn(io, std::move(command), asio::use_future);
    std::cout << answer.get() << std::endl;
  }
  asio::co_spawn(io, fleet.stop(), asio::use_future).get();
  guard.reset();
  loop.join();
  std::cout << "ok" << std::endl;
  return 0;
}
