// What an inference engine's metrics page means: data, read from YAML, checked strictly. The format
// is described in provider/profiles/README.md. Immutable values.
#pragma once

#include "base/result.h"
#include "provider/role.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::provider {

enum class Fold { kSum, kMax, kMaxThenSum };
enum class Absent { kUnknown, kZeroInFamily, kZero };

struct LabelFilter {
  std::string label;
  std::vector<std::string> values;  // empty: any value
  bool keep = true;                 // false: drop
};

struct SampleTerm {
  std::string sample;
  std::vector<LabelFilter> filters;
  Fold fold = Fold::kSum;
  std::vector<std::string> max_over;
  double scale = 1;
  Absent absent = Absent::kUnknown;
};

struct Candidate {
  std::vector<SampleTerm> terms;  // at least one
  bool deprecated = false;
};

struct PageWarning {
  SampleTerm term;
  std::string text;
};

struct EngineProfile {
  std::string engine;
  int rank = 0;
  std::vector<std::string> prefixes, names;
  std::vector<std::uint16_t> ports;
  std::string path = "/metrics";
  std::vector<std::string> model_labels, foreign_labels;
  std::array<std::vector<Candidate>, kRoles> roles;  // by Role
  std::vector<PageWarning> warnings;
};

// Errors are kBadRequest and name file, line and key: "vllm.yaml:12: roles.running[0].fold: …".
Result<EngineProfile> parse_engine_profile(std::string_view file, std::string_view text);

// The profiles in the binary, by rank. Throws std::logic_error where one of them is wrong, which a
// test rules out.
std::vector<EngineProfile> built_in_profiles();

// Every sample name that these profiles read, each once: what a scrape has to keep.
std::vector<std::string> wanted_sample_names(const std::vector<EngineProfile>& profiles);

}  // namespace loadline::provider
