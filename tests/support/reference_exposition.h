// The text exposition read slowly and plainly, one rule after the other: what the scanner of
// scrape/ must agree with, sample by sample. Standard library only, and nothing shared with the
// scanner but the words of its contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loadline::testing {

struct ReferenceSample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
  std::optional<std::int64_t> timestamp_ms;
};

struct ReferencePage {
  enum class Verdict { kGood, kNotMetrics, kCutShort };
  Verdict verdict = Verdict::kGood;
  // Empty and 0 where the verdict is not good.
  std::vector<ReferenceSample> samples;  // the wanted ones
  std::uint64_t samples_on_page = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t refused_lines = 0;
};

ReferencePage read_exposition(const std::string& page, const std::vector<std::string>& wanted,
                              bool open_metrics = false);

// The names of all samples of the page, in the order of their first lines.
std::vector<std::string> sample_names(const std::string& page);

}  // namespace loadline::testing
