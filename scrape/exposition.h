// Streaming scanner of the Prometheus text exposition (0.0.4 with the tolerances of field
// use, 1.0.0's quoted names, and OpenMetrics text): hands on the samples with wanted names. Input
// may be split at any byte. No allocation per line; a line that is cut waits in a buffer bounded by
// kMostLineBytes. Not thread-safe; one scanner, one page.
//
// A line is checked in full until one has proved to be a sample; after that only lines with wanted
// names are: the rest is stepped over. So samples_on_page is exact for a well-formed page, and may
// count malformed unwanted lines of another.
#pragma once

#include "scrape/exposition_line.h"
#include "scrape/scrape_result.h"
#include "scrape/wanted_names.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace loadline::scrape {

inline constexpr std::size_t kMostLineBytes = 64u
                                              << 10;  // a longer one is refused, the page goes on

// Fills ScrapeResult::samples, labels, text, samples_on_page, duplicates, refused_lines,
// page_bytes. Sets failure and message to kNotMetrics when what came is no exposition (HTML, JSON,
// binary, or nothing parsed and something refused), to kTooLarge when more wanted samples stand
// there than sample_store.h keeps, to kCutShort when an OpenMetrics page lacks its "# EOF". An
// empty page is a good one without samples.
class ExpositionScanner {
 public:
  ExpositionScanner(const WantedNames& wanted, ScrapeResult& into,
                    PageFormat format = PageFormat::kText);
  ~ExpositionScanner();

  void feed(std::string_view bytes);
  void finish();  // the last line may lack its newline

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace loadline::scrape
