// Several simulated engines behind a router that sends each request to the least loaded ready one.
// Deterministic; time is an argument. Not thread-safe.
#pragma once

#include "sim/arrivals.h"
#include "sim/engine.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace loadline::sim {

struct FleetOptions {
  EngineSpec engine = llama3_8b_a100();
  RequestSizes sizes;
  std::uint64_t seed = 1;
  std::size_t most_in_flight = 10'000;  // of an engine; the router refuses what would go above
};

// Requests since the start.
struct FleetCounters {
  std::int64_t offered = 0;  // came to the router
  std::int64_t routed = 0;   // went to an engine
  std::int64_t refused = 0;  // no engine was ready, or none had room
  std::int64_t lost = 0;     // in flight on an engine when it was removed
};

class Fleet {
 public:
  struct Member {
    std::string name;
    double ready_s = 0;              // when it accepts, or began to
    std::int64_t routed = 0;         // requests sent to it
    std::unique_ptr<Engine> engine;  // null until ready
  };

  Fleet(FleetOptions options, double start_s);

  // Starts an engine that accepts after the delay. false: the name is taken.
  bool add(std::string name, double delay_s = 0);
  // Its requests in flight are lost. false: there is none of that name.
  bool remove(const std::string& name);

  // Requests a second over the whole fleet: steady, or by time (asked every 0.1 s of it). What is
  // not above 0 is none.
  void set_rate(double per_s);
  void set_rate(std::function<double(double t_s)> per_s);

  // Brings requests and engines to t_s. Going back is ignored.
  void advance_to(double t_s);

  double now_s() const { return now_s_; }
  const std::vector<Member>& members() const { return members_; }
  const Member* find(const std::string& name) const;
  const FleetCounters& counters() const { return counters_; }

 private:
  void start_ready(double t_s);
  void arrivals(double to_s);
  void route();

  FleetOptions options_;
  PoissonArrivals arrivals_;
  RequestMix mix_;
  std::function<double(double)> rate_;
  double now_s_;
  std::vector<Member> members_;  // in the order of their coming
  FleetCounters counters_;
};

}  // namespace loadline::sim
