// `loadline replay`: recorded samples through an estimator, one JSON object a row. Any production
// case replays so as a test.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <istream>
#include <ostream>
#include <string>

namespace loadline::cmd {

struct ReplayOptions {
  std::string estimator = "classic";
  std::string input = "input";  // the file's name, for messages only
  double window_s = 60;         // of the estimator and of the aggregation; 0: everything
  double warmup_s = 30;
  double multiplier = 1;
  double percentile = 0.9;  // of the concurrency, 0..1
  std::size_t min_ticks = 3;
  std::string aggregation = "last";  // last, lifetime_max, max, mean, pNN: over what was measured
};

// Reads a CSV whose header row names t_s, in seconds, and signals of estimator/engine_signals.h in
// any order (completed_total, running, …); an empty cell is a signal not seen. Writes a row as soon
// as it is read:
//   {"t_s":5,"capacity":null,"lower":null,"upper":null,"quality":"unknown","reason":"warm_up"}
// capacity is in requests that the replica may hold (Estimate::capacity_messages), aggregated;
// lower and upper are its band. Errors: kBadRequest for an option, and for anything in the CSV that
// is not so, with line, column and cure; the rows before it are written. kTooLarge: a line above 64
// kB.
Status replay(const ReplayOptions& options, std::istream& in, std::ostream& out);

}  // namespace loadline::cmd
