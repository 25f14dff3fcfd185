// The Beam-compatible capacity estimator: throughput per occupied slot, times the 90th percentile
// of the concurrency, over a trailing window. It tells demonstrated throughput, not what a replica
// could do: for pull-based workers, and for comparison. Same inputs, same outputs; time comes with
// the samples. Not thread-safe. About 1 kB and 1 µs a sample at 5 s.
#pragma once

#include "estimator/counter_baseline.h"
#include "estimator/engine_signals.h"
#include "estimator/estimate.h"
#include "estimator/trailing_window.h"

#include <cstddef>
#include <optional>

namespace loadline::estimator {

struct ClassicOptions {
  double window_s = 60;  // of the samples that count; 0: all
  double warmup_s = 30;  // busy time in the window before there is a number
  double multiplier =
      1;  // seconds of backlog that a worker may hold (drain time); below 0 counts as 0
  double percentile = 0.9;    // of the concurrency, 0..1
  std::size_t min_ticks = 3;  // busy samples in the window before there is a number
};

class Classic {
 public:
  explicit Classic(ClassicOptions options = {});

  // Takes one sample. A number that was measured stands (kHeld, with the reason) until the next is
  // measured: idleness, a reset, a gap or a second warm-up after them never withdraw it. Before the
  // first there is none (kUnknown). A sample without completed_total or running is no sample:
  // nothing changes but t_s and the reason.
  Estimate update(const EngineSignals& signals);

 private:
  struct BusyTick {
    double t_s, completed, dt_s, concurrency;
  };

  // Takes the sample in; kNone when last_ has a new number.
  Reason tick(const EngineSignals& signals);
  Reason evaluate();

  ClassicOptions options_;
  CounterBaseline completed_;
  TrailingWindow<BusyTick> busy_;
  std::optional<double> capacity_;
};

}  // namespace loadline::estimator
