#include "sim/engine_spec.h"

namespace loadline::sim {

EngineSpec llama3_8b_a100() {
  EngineSpec spec;
  spec.name = "llama-3-8b-a100";
  spec.cost.a1_ms = 9.3;
  spec.cost.b1_ms = 0.044;
  spec.cost.a2_ms = 2.0;
  spec.cost.b2_ms = 0.0670;
  spec.cost.kv_ms = 8.2e-5;
  spec.cost.pair_ms = 3.4e-6;
  spec.cost.head_ms = 0.6;
  spec.cost.head_per_output_ms = 0.006;
  spec.kv_tokens = 400'000;
  spec.max_batched_tokens = 2048;
  return spec;
}

EngineSpec llama3_8b_h100() {
  EngineSpec spec;
  spec.name = "llama-3-8b-h100";
  spec.cost.a1_ms = 5.8;
  spec.cost.b1_ms = 0.016;
  spec.cost.a2_ms = 3.1;
  spec.cost.b2_ms = 0.0218;
  spec.cost.kv_ms = 4.9e-5;
  spec.cost.pair_ms = 1.4e-6;
  spec.cost.head_ms = 0.35;
  spec.cost.head_per_output_ms = 0.002;
  spec.kv_tokens = 420'000;
  spec.max_batched_tokens = 8192;
  return spec;
}

EngineSpec demo_engine() {
  EngineSpec spec = llama3_8b_a100();
  spec.name = "demo";
  spec.kv_tokens = 16'000;
  spec.max_num_seqs = 4;
  return spec;
}

}  // namespace loadline::sim
