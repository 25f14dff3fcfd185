// The demo's live table, as text. Pure but for the short history that it keeps for its plots.
#pragma once

#include "base/clock.h"
#include "provider/reading.h"

#include <deque>
#include <map>
#include <string>

namespace loadline::cmd {

class DemoTable {
 public:
  // A line a pod and one for all: in flight, waiting, completions, capacity, and in flight over the
  // last half minute.
  std::string render(const provider::View& view, SteadyTime now);

 private:
  std::string plot(const std::string& pod, double in_flight);

  static constexpr std::size_t kPlotWidth = 30;
  std::map<std::string, std::deque<double>> history_;
};

}  // namespace loadline::cmd
