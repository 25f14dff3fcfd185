// A simulated inference engine with continuous batching, as vLLM V1 schedules: chunked prefill
// under a token budget, first come first served, admission by free KV blocks, preemption by
// recomputing, prefix hits. Deterministic; time is an argument and may be simulated or real. Costs
// about 10 ns a sequence and step (optimised). Not thread-safe.
#pragma once

#include "sim/engine_spec.h"
#include "sim/histogram.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace loadline::sim {

// Why a request ended, as vLLM's finished_reason has it.
enum class FinishReason : std::size_t { kStop, kLength };
inline constexpr std::size_t kFinishReasons = 2;
std::string_view to_string(FinishReason reason);  // "stop", "length"

struct Request {
  int input_tokens = 1;
  int output_tokens = 1;
  int prefix_tokens =
      0;  // of the input, found in the prefix cache; at least one token is computed all the same
  FinishReason reason = FinishReason::kStop;
};

// As on the page: updated at the end of each step.
struct EngineGauges {
  int running = 0;      // in the batch, those still prefilling included
  int waiting = 0;      // refused by the last step's admission; not in running
  double kv_usage = 0;  // 0..1
};

// Totals since the start.
struct EngineCounters {
  std::array<std::int64_t, kFinishReasons> finished{};
  std::int64_t prompt_tokens = 0;         // prefix hits included; counted when the prompt is done
  std::int64_t prompt_tokens_cached = 0;  // the hits in them
  std::int64_t generation_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t prefix_queries = 0, prefix_hits = 0;  // tokens, at admission
};

// Latencies in seconds, sizes in tokens; bounds are vLLM's.
struct EngineHistograms {
  EngineHistograms();
  Histogram ttft, itl, e2e, queue, prefill, decode, inference, time_per_output_token;
  Histogram prompt_tokens, generation_tokens;
  // Of the steps that gave a token, as vLLM counts: a step that only prefills is not in it, a
  // prompt enters as a lump with its first token, less the prefix hits.
  Histogram iteration_tokens;
};

class Engine {
 public:
  // It starts empty at start_s.
  // REQUIRES: every limit of the spec is above 0.
  explicit Engine(EngineSpec spec, double start_s = 0);

  // Runs all steps that end at or before t_s. Going back is ignored.
  void advance_to(double t_s);

  // Takes a request that arrives now; it is seen by the next step that begins. false: it is empty
  // or could never fit into the KV room, and is not taken.
  bool submit(const Request& request);

  double now_s() const { return now_s_; }
  const EngineSpec& spec() const { return spec_; }
  const EngineGauges& gauges() const { return gauges_; }
  const EngineCounters& counters() const { return counters_; }
  const EngineHistograms& histograms() const { return histograms_; }
  std::int64_t completed() const;                // requests, any reason
  std::int64_t steps() const { return steps_; }  // those that only prefill included
  std::size_t in_flight() const;  // taken and not finished, live: what a router knows
  std::optional<double> step_end_s() const { return step_end_s_; }  // of the step under way

 private:
  struct Sequence {
    Request request;
    double arrived_s = 0, scheduled_s = -1, first_token_s = 0, last_token_s = 0;
    int computed = 0;  // tokens with their KV entries in place
    int generated = 0;
    int blocks = 0;       // held
    int step_tokens = 0;  // of the step under way
    int context() const { return request.input_tokens + generated; }
  };

  void begin_step(double t_s);
  int schedule_running(int budget, bool* preempted);
  void schedule_waiting(int budget, double t_s);
  bool grow(Sequence& sequence, int tokens);
  void preempt_last();
  double step_s() const;
  void end_step();
  int emit_token(Sequence& sequence);
  void finish(const Sequence& sequence);

  EngineSpec spec_;
  double now_s_;
  int free_blocks_, total_blocks_;
  std::deque<Sequence> inbox_;    // arrived during the step under way
  std::deque<Sequence> waiting_;  // first come first served, preempted ones in front
  std::vector<Sequence> running_;
  std::optional<double> step_end_s_;
  std::int64_t steps_ = 0;
  EngineGauges gauges_;
  EngineCounters counters_;
  EngineHistograms histograms_;
};

}  // namespace loadline::sim
