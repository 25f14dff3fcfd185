// From the samples of a page to the signals of its engine. Pure functions: same page, same answer.
//
// What is not on the page stays unknown. A role is unknown as well, with a warning, where one of
// its series is not finite, below 0, older than the page by its own time stamp, or where it has
// more than kMostSeries series: part of a sum is no sum.
#pragma once

#include "estimator/engine_signals.h"
#include "provider/engine_profile.h"
#include "provider/role.h"
#include "scrape/scrape_result.h"
#include "scrape/wanted_names.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace loadline::provider {

inline constexpr std::size_t kMostSeries = 1024;

// One series (or group of series folded by max) of a counter that rates are taken from: a
// data-parallel engine may restart alone, and the sum over all of them hides it.
struct CounterSeries {
  std::uint64_t key = 0;  // of its name and labels, whatever their order
  double value = 0;
};

struct PageSignals {
  std::string engine, model;  // model may be empty
  estimator::EngineSignals signals;
  std::vector<std::string> missing;   // roles, in their order
  std::vector<std::string> warnings;  // for people; equal for equal causes, so no numbers that move
  // By role; only of completed_total, prompt_tokens_total and generation_tokens_total.
  std::vector<CounterSeries> completed, prompt_tokens, generation_tokens;
};

// The first of the profiles whose engine wrote the page, nullptr where none did. wanted: what the
// page was scraped for.
const EngineProfile* detect(const std::vector<EngineProfile>& profiles,
                            const scrape::ScrapeResult& page, const scrape::WantedNames& wanted);

// REQUIRES: page.failure is kNone. max_age: of samples that carry a time stamp, before
// page.wall_time.
PageSignals fold(const EngineProfile& profile, const scrape::ScrapeResult& page,
                 const scrape::WantedNames& wanted, std::chrono::milliseconds max_age);

}  // namespace loadline::provider
