// What a simulated engine is: the cost of its steps and its limits. Immutable value.
#pragma once

#include <string>

namespace loadline::sim {

// Time of one engine step in ms, with n the tokens processed in it (decode and prefill):
//   max(a1 + b1*n, a2 + b2*n)          linear layers: bound by memory, then by arithmetic
// + kv * (tokens of context that the decoding sequences read)
// + pair * sum over prefill chunks of chunk*(context before it + chunk/2)
// + fixed + per_sequence*running       scheduler and host
// + head + head_per_output*outputs     logits and sampling
struct StepCost {
  double a1_ms = 0, b1_ms = 0, a2_ms = 0, b2_ms = 0;
  double kv_ms = 0, pair_ms = 0;
  double fixed_ms = 1.5, per_sequence_ms = 0.012;
  double head_ms = 0, head_per_output_ms = 0;
};

struct EngineSpec {
  std::string name;
  StepCost cost;
  int kv_tokens = 0;           // room for context over all sequences
  int block_tokens = 16;       // granularity of that room
  int max_num_seqs = 256;      // sequences in the batch
  int max_batched_tokens = 0;  // tokens in a step: the budget of chunked prefill
};

// Llama-3-8B, bf16, one accelerator: fitted to published per-operator profiles.
EngineSpec llama3_8b_a100();
EngineSpec llama3_8b_h100();

// The A100 engine cut down to four sequences: saturates at a few requests a second, so that a
// demonstration moves visibly under a load that one core can simulate for many pods.
EngineSpec demo_engine();

}  // namespace loadline::sim
