#include "estimator/estimate.h"

namespace loadline::estimator {

std::string_view to_string(Quality quality) {
  switch (quality) {
    case Quality::kUnknown:
      return "unknown";
    case Quality::kMeasured:
      return "measured";
    case Quality::kHeld:
      return "held";
  }
  return "unknown";
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kNoBaseline:
      return "no_baseline";
    case Reason::kSignalMissing:
      return "signal_missing";
    case Reason::kClock:
      return "clock";
    case Reason::kCounterReset:
      return "counter_reset";
    case Reason::kIdle:
      return "idle";
    case Reason::kWarmUp:
      return "warm_up";
    case Reason::kNoCompletion:
      return "no_completion";
    case Reason::kNotFinite:
      return "not_finite";
  }
  return "";
}

}  // namespace loadline::estimator
