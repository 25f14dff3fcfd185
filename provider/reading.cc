#include "provider/reading.h"

namespace loadline::provider {

std::string_view to_string(LeftOut reason) {
  switch (reason) {
    case LeftOut::kNot:
      return "served";
    case LeftOut::kNotRunning:
      return "not_running";
    case LeftOut::kTerminating:
      return "terminating";
    case LeftOut::kNeverReady:
      return "never_ready";
    case LeftOut::kNoTarget:
      return "no_target";
    case LeftOut::kNotScraped:
      return "not_scraped";
    case LeftOut::kScrapeFailed:
      return "scrape_failed";
    case LeftOut::kUnknownEngine:
      return "unknown_engine";
    case LeftOut::kStale:
      return "stale";
  }
  return "served";
}

LeftOut left_out_at(const Reading& reading, SteadyTime now) {
  return reading.left_out == LeftOut::kNot && now >= reading.fresh_until ? LeftOut::kStale
                                                                         : reading.left_out;
}

}  // namespace loadline::provider
