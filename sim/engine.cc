#include "sim/engine.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace loadline::sim {
namespace {

int blocks_for(int tokens, int block_tokens) { return (tokens + block_tokens - 1) / block_tokens; }

const std::vector<double> kRequestSeconds = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                             30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
const std::vector<double> kFirstTokenSeconds = {.001, .005, .01, .02, .04, .06, .08, .1,
                                                .25,  .5,   .75, 1,   2.5, 5,   7.5, 10,
                                                20,   40,   80,  160, 640, 2560};
const std::vector<double> kTokenSeconds = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                           .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
const std::vector<double> kRequestTokens = {1,   2,    5,    10,   20,    50,    100,   200,
                                            500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
const std::vector<double> kStepTokens = {1,   8,    16,   32,   64,   128,  256,
                                         512, 1024, 2048, 4096, 8192, 16384};

}  // namespace

std::string_view to_string(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

EngineHistograms::EngineHistograms()
    : ttft(kFirstTokenSeconds),
      itl(kTokenSeconds),
      e2e(kRequestSeconds),
      queue(kRequestSeconds),
      prefill(kRequestSeconds),
      decode(kRequestSeconds),
      inference(kRequestSeconds),
      time_per_output_token(kTokenSeconds),
      prompt_tokens(kRequestTokens),
      generation_tokens(kRequestTokens),
      iteration_tokens(kStepTokens) {}

Engine::Engine(EngineSpec spec, double start_s)
    : spec_(std::move(spec)),
      now_s_(start_s),
      free_blocks_(spec_.kv_tokens / spec_.block_tokens),
      total_blocks_(free_blocks_) {
  assert(total_blocks_ > 0 && spec_.max_num_seqs > 0 && spec_.max_batched_tokens > 0);
}

std::int64_t Engine::completed() const {
  return std::accumulate(counters_.finished.begin(), counters_.finished.end(), std::int64_t{0});
}

std::size_t Engine::in_flight() const { return inbox_.size() + waiting_.size() + running_.size(); }

bool Engine::submit(const Request& request) {
  if (request.input_tokens < 1 || request.output_tokens < 1) return false;
  if (request.input_tokens > spec_.kv_tokens || request.output_tokens > spec_.kv_tokens)
    return false;
  const int most = request.input_tokens + request.output_tokens;
  if (blocks_for(most, spec_.block_tokens) > total_blocks_) return false;
  Sequence sequence;
  sequence.request = request;
  sequence.request.prefix_tokens = std::clamp(request.prefix_tokens, 0, request.input_tokens - 1);
  sequence.arrived_s = now_s_;
  inbox_.push_back(sequence);
  return true;
}

void Engine::advance_to(double t_s) {
  while (now_s_ < t_s) {
    if (!step_end_s_) begin_step(now_s_);
    if (!step_end_s_ || *step_end_s_ > t_s) break;
    now_s_ = *step_end_s_;
    end_step();
  }
  now_s_ = std::max(now_s_, t_s);
}

void Engine::begin_step(double t_s) {
  for (Sequence& sequence : inbox_) waiting_.push_back(std::move(sequence));
  inbox_.clear();
  bool preempted = false;
  const int budget = schedule_running(spec_.max_batched_tokens, &preempted);
  // What was thrown out for lack of room must not come back in the same step.
  if (!preempted) schedule_waiting(budget, t_s);
  if (!running_.empty()) step_end_s_ = t_s + step_s();
}

// Returns what is left of the budget.
int Engine::schedule_running(int budget, bool* preempted) {
  for (Sequence& sequence : running_) sequence.step_tokens = 0;
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    const int tokens = std::min(running_[i].context() - running_[i].computed, budget);
    while (i < running_.size() && !grow(running_[i], tokens)) {
      preempt_last();
      *preempted = true;
    }
    if (i == running_.size()) break;  // it had to give way itself
    running_[i].step_tokens = tokens;
    budget -= tokens;
  }
  return budget;
}

void Engine::schedule_waiting(int budget, double t_s) {
  while (!waiting_.empty() && budget > 0 &&
         running_.size() < static_cast<std::size_t>(spec_.max_num_seqs)) {
    Sequence& sequence = waiting_.front();
    sequence.computed = sequence.request.prefix_tokens;
    const int tokens = std::min(sequence.context() - sequence.computed, budget);
    // The whole prompt must have room, not just its first chunk: half-admitted long prompts would
    // throw each other out.
    if (!grow(sequence, sequence.context() - sequence.computed)) break;
    sequence.step_tokens = tokens;
    budget -= tokens;
    if (sequence.scheduled_s < 0) {
      sequence.scheduled_s = t_s;
      counters_.prefix_queries += sequence.request.input_tokens;
      counters_.prefix_hits += sequence.request.prefix_tokens;
      histograms_.queue.observe(t_s - sequence.arrived_s);
    }
    running_.push_back(std::move(sequence));
    waiting_.pop_front();
  }
}

// Takes the blocks that the sequence needs with so many tokens more; false: there are not enough.
bool Engine::grow(Sequence& sequence, int tokens) {
  const int more =
      std::max(0, blocks_for(sequence.computed + tokens, spec_.block_tokens) - sequence.blocks);
  if (more > free_blocks_) return false;
  sequence.blocks += more;
  free_blocks_ -= more;
  return true;
}

void Engine::preempt_last() {
  Sequence& last = running_.back();
  free_blocks_ += last.blocks;
  last.blocks = last.computed = last.step_tokens = 0;
  ++counters_.preemptions;
  waiting_.push_front(std::move(last));
  running_.pop_back();
}

double Engine::step_s() const {
  const StepCost& cost = spec_.cost;
  double tokens = 0, context_read = 0, pairs = 0, outputs = 0;
  for (const Sequence& sequence : running_) {
    const double chunk = sequence.step_tokens, before = sequence.computed;
    tokens += chunk;
    if (sequence.computed + sequence.step_tokens == sequence.context()) ++outputs;
    const bool decoding = sequence.step_tokens == 1 && sequence.generated > 0;
    if (decoding) {
      context_read += before;
    } else {
      pairs += chunk * (before + chunk / 2);
    }
  }
  const double linear =
      std::max(cost.a1_ms + cost.b1_ms * tokens, cost.a2_ms + cost.b2_ms * tokens);
  const double host = cost.fixed_ms + cost.per_sequence_ms * static_cast<double>(running_.size());
  const double head = cost.head_ms + cost.head_per_output_ms * outputs;
  return 1e-3 * (linear + cost.kv_ms * context_read + cost.pair_ms * pairs + host + head);
}

void Engine::end_step() {
  step_end_s_.reset();
  int tokens = 0;
  for (Sequence& sequence : running_) {
    sequence.computed += sequence.step_tokens;
    const bool done = sequence.step_tokens > 0 && sequence.computed == sequence.context();
    sequence.step_tokens = 0;
    if (done) tokens += emit_token(sequence);
  }
  ++steps_;
  if (tokens > 0) histograms_.iteration_tokens.observe(tokens);
  std::erase_if(running_, [&](const Sequence& sequence) {
    if (sequence.generated < sequence.request.output_tokens) return false;
    finish(sequence);
    return true;
  });
  gauges_.running = static_cast<int>(running_.size());
  gauges_.waiting = static_cast<int>(waiting_.size());
  gauges_.kv_usage = 1.0 - static_cast<double>(free_blocks_) / total_blocks_;
}

// Returns the tokens that it adds to the iteration's.
int Engine::emit_token(Sequence& sequence) {
  int tokens = 1;
  if (sequence.generated == 0) {
    sequence.first_token_s = now_s_;
    histograms_.ttft.observe(now_s_ - sequence.arrived_s);
    counters_.prompt_tokens += sequence.request.input_tokens;
    counters_.prompt_tokens_cached += sequence.request.prefix_tokens;
    tokens += sequence.request.input_tokens - sequence.request.prefix_tokens;
  } else {
    histograms_.itl.observe(now_s_ - sequence.last_token_s);
  }
  sequence.last_token_s = now_s_;
  ++sequence.generated;
  ++counters_.generation_tokens;
  return tokens;
}

void Engine::finish(const Sequence& sequence) {
  free_blocks_ += sequence.blocks;
  ++counters_.finished[static_cast<std::size_t>(sequence.request.reason)];
  const double decode_s = sequence.last_token_s - sequence.first_token_s;
  histograms_.e2e.observe(now_s_ - sequence.arrived_s);
  histograms_.inference.observe(now_s_ - sequence.scheduled_s);
  histograms_.prefill.observe(sequence.first_token_s - sequence.scheduled_s);
  histograms_.decode.observe(decode_s);
  if (sequence.generated > 1) {
    histograms_.time_per_output_token.observe(decode_s / (sequence.generated - 1));
  }
  histograms_.prompt_tokens.observe(sequence.request.input_tokens);
  histograms_.generation_tokens.observe(sequence.generated);
}

}  // namespace loadline::sim
