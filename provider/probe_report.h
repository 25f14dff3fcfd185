// What `loadline probe` says of one page: which engine, which signals, what is missing. Pure.
#pragma once

#include "provider/engine_profile.h"
#include "scrape/scrape_result.h"
#include "scrape/wanted_names.h"

#include <optional>
#include <string>
#include <vector>

namespace loadline::provider {

struct ProbeReport {
  std::optional<std::string> engine;  // empty: no profile recognises the page
  std::string model;
  estimator::EngineSignals signals;
  std::vector<std::string> missing;  // role names
  std::vector<std::string> warnings;
};

// profiles by rank, as built_in_profiles() gives them. kUnavailable where the page is a failure,
// with its message.
Result<ProbeReport> make_probe_report(const std::vector<EngineProfile>& profiles,
                                      const scrape::ScrapeResult& page,
                                      const scrape::WantedNames& wanted);

// {"engine": "vllm"|null, "model": …, "signals": {ROLE: number|null, …}, "missing": [ROLE, …],
// "warnings": [TEXT, …]}, indented by two blanks, keys in this order.
std::string to_json(const ProbeReport& report);

}  // namespace loadline::provider
