// Runs the scanner of scrape/ over a page cut into pieces, and compares what it read with the
// reference.
#pragma once

#include "scrape/exposition.h"
#include "tests/support/reference_exposition.h"

#include <string>
#include <string_view>
#include <vector>

namespace loadline::testing {

// `cuts`: where the pieces end, ascending; each piece lies in a block of its own, so that a
// sanitizer sees a read past it.
scrape::ScrapeResult scan(std::string_view page, const scrape::WantedNames& wanted,
                          const std::vector<std::size_t>& cuts = {},
                          scrape::PageFormat format = scrape::PageFormat::kText);

// Empty where both read the same.
std::string difference(const scrape::ScrapeResult& ours, const scrape::WantedNames& wanted,
                       const ReferencePage& reference);

}  // namespace loadline::testing
