// What one scrape brought: the wanted samples of a whole page, or a failure with its reason; never
// half a page. Immutable once handed on.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::scrape {

enum class ScrapeFailure {
  kNone,
  kConnect,     // refused, unreachable, reset before an answer
  kProtocol,    // the answer is no well-formed HTTP
  kTimeout,     // the deadline passed
  kHttpStatus,  // not 200
  kTooLarge,    // body, head or number of wanted samples over the limit
  kCutShort,    // the connection or the page ended before the body did
  kNotMetrics,  // the body is no exposition (HTML, JSON, binary)
};
// "connect", "timeout", …: label values of our own metrics.
std::string_view to_string(ScrapeFailure failure);

struct Label {
  std::string_view name, value;  // value unescaped
};

// Views are into the ScrapeResult that holds the sample.
struct Sample {
  std::uint16_t name_index = 0;               // into Target::wanted
  std::uint32_t first_label = 0, labels = 0;  // a range of ScrapeResult::labels
  double value = 0;                           // may be NaN or infinite: the reader decides
  std::optional<std::int64_t> timestamp_ms;   // where the page gives one
};

struct ScrapeResult {
  ScrapeResult() = default;
  ScrapeResult(ScrapeResult&&) = default;
  ScrapeResult& operator=(ScrapeResult&&) = default;

  std::string target_id;
  SteadyTime time{};  // taken once, when the response begins
  WallTime wall_time{};
  double duration_s = 0;
  ScrapeFailure failure = ScrapeFailure::kNone;
  std::string message;  // for people, where failure is set

  // Empty where failure is set, but for page_bytes. A sample's labels are sorted by name; an empty
  // value is the same as no label.
  std::vector<Sample> samples;  // each series once, the first one of the page
  std::vector<Label> labels;
  // Wanted names that the page declares (# TYPE) before its first sample: all that a page without
  // any tells of its engine.
  std::vector<std::uint16_t> declared;
  std::uint64_t samples_on_page = 0;  // wanted or not
  std::uint32_t duplicates = 0;       // wanted series that stood there again, with whatever value
  std::uint32_t refused_lines = 0;    // malformed
  std::uint64_t page_bytes = 0;

  std::vector<Label>::const_iterator labels_begin(const Sample& s) const {
    return labels.begin() + s.first_label;
  }
  std::vector<Label>::const_iterator labels_end(const Sample& s) const {
    return labels.begin() + s.first_label + s.labels;
  }

  // Owns the bytes that the labels point into: a deque of chunks never moves them.
  std::vector<std::unique_ptr<char[]>> text;
};

}  // namespace loadline::scrape
