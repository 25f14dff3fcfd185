// Scrapes every target once an interval, each at its own phase, over a kept connection, at most one
// request in flight a target. A slow, huge, silent or lying target costs only itself. Data loop
// only.
#pragma once

#include "base/clock.h"
#include "base/metrics.h"
#include "scrape/scrape_result.h"
#include "scrape/target.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace loadline::scrape {

struct ScraperMetrics {
  Counter scrapes_total, failures_total, bytes_total, samples_total, duplicates_total,
      refused_lines_total;
  Gauge targets;
};

class Scraper {
 public:
  // Called on the data loop at the end of each scrape, good or failed; never for a target that
  // set_targets has taken away (field case B42: a late answer of an old pod is dropped).
  using OnResult = std::function<void(std::shared_ptr<const ScrapeResult>)>;

  Scraper(boost::asio::any_io_executor executor, const Clock& clock, OnResult on_result);
  ~Scraper();

  // The whole set of targets: new ones start at once (their first scrape within 1/10 of the
  // interval, then at their own phase, derived from the id), changed ones restart, missing ones
  // stop.
  void set_targets(std::vector<Target> targets);

  // Stops all and waits for it.
  boost::asio::awaitable<void> stop();

  const ScraperMetrics& metrics() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// One scrape on a connection of its own, for `loadline probe`.
boost::asio::awaitable<ScrapeResult> scrape_once(Target target, const Clock& clock);

}  // namespace loadline::scrape
