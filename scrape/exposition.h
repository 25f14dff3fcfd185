// Streaming scanner of the Prometheus text exposition (0.0.4, with the tolerances of field use, and OpenMetrics text): hands on
// the samples with wanted names. Input may be split at any byte. No allocation per line; a line that is cut waits in a buffer
// bounded by kMostLineBytes. Not thread-safe; one scan each, reset() for the next.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "scrape/scrape_result.h"
#include "scrape/wanted_names.h"

namespace loadline::scrape {

inline constexpr std::size_t kMostLineBytes = 64u << 10;  // a longer one is refused, the page goes on

// Fills ScrapeResult::samples, labels, text, samples_on_page, duplicates, refused_lines, page_bytes; and failure kNotMetrics when what
// came is no exposition (nothing parsed and something refused, or HTML, or JSON), with a message that says what it looks like.
class ExpositionScanner {
 public:
  ExpositionScanner(const WantedNames& wanted, ScrapeResult& into);
  ~ExpositionScanner();

  void feed(std::string_view bytes);
  void finish();  // the last line may lack its newline

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace loadline::scrape
