// The simulated engine's metrics page in Prometheus text, named and labelled as vLLM V1 does: every
// number is the simulation's; families that it has no number for are not there.
#pragma once

#include "estimator/engine_signals.h"
#include "sim/engine.h"

#include <optional>
#include <string>

namespace loadline::sim {

struct PageOptions {
  std::string model_name;
  std::string engine = "0";  // the data-parallel rank
  std::optional<double>
      start_unix_s;  // process_start_time_seconds; absent, as in vLLM's multiprocess mode
};

std::string vllm_page(const Engine& engine, const PageOptions& options);

// The same numbers without the page, at the engine's present time.
estimator::EngineSignals signals_of(const Engine& engine);

}  // namespace loadline::sim
