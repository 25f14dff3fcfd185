// Simulated engines that can be scraped: each serves vLLM's page over plain HTTP, all are driven in
// real time and share one load. For `loadline demo` and the end-to-end tests. Loop-bound:
// everything on the executor's thread; it runs as long as the object lives and must be stopped
// first.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task_group.h"
#include "net/http_server.h"
#include "sim/fleet.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace loadline::cmd {

struct SimulatedFleetOptions {
  SimulatedFleetOptions();
  sim::FleetOptions
      fleet;  // small engines under small requests, which move visibly at a few requests a second
  std::string model_name = "simulated/llama-3-8b";
  std::chrono::milliseconds tick{50};
};

struct SimulatedEngine {
  std::string address;
  bool ready = false;
  int running = 0, waiting = 0;
  double kv_usage = 0;
  std::int64_t completed = 0;
};

class SimulatedFleet {
 public:
  SimulatedFleet(boost::asio::any_io_executor executor, const Clock& clock,
                 SimulatedFleetOptions options = {});
  // REQUIRES: stopped, or the io_context will not run again.
  ~SimulatedFleet();
  SimulatedFleet(const SimulatedFleet&) = delete;
  SimulatedFleet& operator=(const SimulatedFleet&) = delete;

  // Starts an engine at "HOST:PORT" (IP literal, IPv6 in brackets; port 0 takes any free one where
  // there is no delay) and returns its address. Until the delay has passed the port is closed and
  // no request is routed to it; if the port cannot be had then, the engine is dropped and the log
  // says so. Errors: kBadRequest, kConflict (there already), those of HttpServer::start.
  Result<std::string> add(const std::string& address, std::chrono::milliseconds delay = {});

  // Closes the port at once; its requests are lost. kNotFound.
  boost::asio::awaitable<Status> remove(std::string address);

  // Requests a second over all engines: steady (kBadRequest unless within 0..kMostRate), or by
  // seconds since the start of the fleet.
  static constexpr double kMostRate = 10'000;
  Status set_rate(double per_s);
  void set_rate(std::function<double(double since_start_s)> per_s);

  // In the order of their coming.
  std::vector<SimulatedEngine> engines() const;
  const sim::FleetCounters& counters() const { return fleet_.counters(); }

  // Closes all ports and ends the load.
  boost::asio::awaitable<void> stop();

 private:
  // Where an engine is served; its name in the fleet is its number.
  struct Door {
    std::string address;
    std::unique_ptr<net::HttpServer> server;  // null until the engine is ready
    double start_unix_s = 0;
  };
  using Doors = std::map<int, Door>;

  boost::asio::awaitable<void> drive();
  boost::asio::awaitable<net::ServerResponse> answer(
      std::shared_ptr<const net::ServerRequest> request, int number);
  void advance();
  void open_ready_doors();
  Status open(int number, Door& door);
  Doors::iterator find(const std::string& address);

  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  SimulatedFleetOptions options_;
  double start_s_;
  sim::Fleet fleet_;  // in seconds since the start
  int next_number_ = 0;
  Doors doors_;
  TaskGroup tasks_;
};

}  // namespace loadline::cmd
