// When a target is scraped: at a phase of its interval that follows from its id alone, so that
// targets spread evenly, two replicas of ours scrape at the same moments, and a slow scrape shifts
// nothing. Pure.
#pragma once

#include "base/clock.h"

#include <chrono>
#include <string_view>

namespace loadline::scrape {

// Of a new target: within a tenth of the interval.
SteadyTime first_scrape(std::string_view id, std::chrono::milliseconds interval, SteadyTime now);

// After one that began at `started`: the first moment of the target's phase that is not past and
// not nearer to the last than half an interval. Missed ones are not made up for.
SteadyTime next_scrape(std::string_view id, std::chrono::milliseconds interval, SteadyTime started,
                       SteadyTime now);

}  // namespace loadline::scrape
