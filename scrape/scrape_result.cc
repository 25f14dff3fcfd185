#include "scrape/scrape_result.h"

namespace loadline::scrape {

std::string_view to_string(ScrapeFailure failure) {
  switch (failure) {
    case ScrapeFailure::kNone:
      return "none";
    case ScrapeFailure::kConnect:
      return "connect";
    case ScrapeFailure::kProtocol:
      return "protocol";
    case ScrapeFailure::kTimeout:
      return "timeout";
    case ScrapeFailure::kHttpStatus:
      return "http_status";
    case ScrapeFailure::kTooLarge:
      return "too_large";
    case ScrapeFailure::kCutShort:
      return "cut_short";
    case ScrapeFailure::kNotMetrics:
      return "not_metrics";
  }
  return "none";
}

}  // namespace loadline::scrape
