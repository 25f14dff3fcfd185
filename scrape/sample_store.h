// Puts parsed lines into a ScrapeResult: copies their text once, keeps each series once, within
// fixed bounds. One page each; not thread-safe. A page's worth of text, labels and samples is the
// most that one target can make us hold.
#pragma once

#include "scrape/exposition_line.h"
#include "scrape/scrape_result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace loadline::scrape {

// About 7 MiB in all; the largest page seen in the field has 400 wanted samples.
inline constexpr std::size_t kMostSamples = 20'000;
inline constexpr std::size_t kMostStoredLabels = 100'000;
inline constexpr std::size_t kMostTextBytes = 2u << 20;

class SampleStore {
 public:
  explicit SampleStore(ScrapeResult& into);

  enum class Added { kNew, kDuplicate, kFull };
  Added add(std::uint16_t name_index, const ParsedLine& line);

  // Takes everything out of the result again.
  void clear();

 private:
  bool same_series(const Sample& sample, std::uint16_t name_index, const ParsedLine& line) const;
  void grow_table();
  Label keep(const Label& label, std::uint32_t position);
  std::string_view keep(std::string_view text);

  ScrapeResult& into_;
  std::vector<std::uint64_t> hashes_;  // of into_.samples
  std::vector<std::uint32_t> table_;   // open addressing: sample's index + 1, 0 where empty
  char* free_ = nullptr;
  std::size_t free_bytes_ = 0;
  std::size_t text_bytes_ = 0;
};

}  // namespace loadline::scrape
