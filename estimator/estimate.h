// What an estimator says of one replica at one time. Immutable value.
#pragma once

#include <optional>
#include <string_view>

namespace loadline::estimator {

// Where the number comes from.
enum class Quality {
  kUnknown,   // no number
  kMeasured,  // from this replica's own samples, newest included
  kHeld,      // the last measured value; the newest sample added nothing (idle, reset, gap)
};

// Why there is no new number; kNone with kMeasured.
enum class Reason {
  kNone,
  kNoBaseline,     // the first sample: counters need two
  kSignalMissing,  // completed_total or running is not on the page
  kClock,          // time stood still or went back
  kCounterReset,   // the counter went back: the engine restarted
  kIdle,           // nothing ran and nothing finished
  kWarmUp,         // not enough busy samples yet
  kNoCompletion,   // busy, but nothing finished inside the window
  kNotFinite,      // a sample was NaN, infinite or negative
};

struct Estimate {
  double t_s = 0;                  // the sample's time
  std::optional<double> capacity;  // requests/s that the replica sustains
  std::optional<double> lower, upper;
  std::optional<double> capacity_messages;  // requests that the replica may hold; never below 1
  Quality quality = Quality::kUnknown;
  Reason reason = Reason::kNoBaseline;
};

std::string_view to_string(Quality quality);  // "unknown", "measured", "held"
std::string_view to_string(Reason reason);    // "", "no_baseline", …

}  // namespace loadline::estimator
