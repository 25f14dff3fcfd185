// The newest of everything that we know of one pod, and whether it counts. The last value before an
// answer is made. Immutable once published.
#pragma once

#include "base/clock.h"
#include "estimator/engine_signals.h"
#include "estimator/estimate.h"
#include "kube/pod.h"
#include "provider/metric.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::provider {

// Why a pod is left out of every answer. The first that applies, in this order.
enum class LeftOut {
  kNot,          // it is served
  kNotRunning,   // Pending, Succeeded, Failed, Unknown
  kTerminating,  // deletionTimestamp is set
  kNeverReady,  // not Ready, and never seen Ready (a pod that was Ready and is overloaded stays in:
                // field case B44)
  kNoTarget,    // no scrape annotation, or no port to be found
  kNotScraped,  // known, its first scrape has not ended
  kScrapeFailed,   // the newest scrapes failed and nothing fresh is left
  kUnknownEngine,  // the page is of no engine that we know
  kStale,          // the newest good scrape is older than three intervals
};
std::string_view to_string(LeftOut reason);  // "not_running", …

struct Reading {
  kube::PodPtr pod;
  LeftOut left_out = LeftOut::kNotScraped;
  std::string detail;    // for people: which port, which error, how old
  std::string engine;    // "vllm", empty while unknown
  std::string model;     // as the page names it, may be empty
  SteadyTime sampled{};  // the newest good scrape; epoch: none
  WallTime sampled_wall{};
  SteadyTime fresh_until{};  // sampled + 3 intervals: later, the reading is stale
  estimator::EngineSignals signals;
  estimator::Estimate estimate;
  PodMetricValues values;  // empty where the signal is missing
};

// left_out at the time of a question: a reading goes stale by itself, with the data loop stopped
// too.
LeftOut left_out_at(const Reading& reading, SteadyTime now);

// All pods at one time. Immutable; readings sorted by namespace, then pod name.
struct View {
  std::uint64_t generation = 0;
  bool pods_synced = false;
  bool first_scrapes_done =
      false;            // every target of the first complete list was tried once, or there are none
  std::string problem;  // of the pod source
  std::vector<std::shared_ptr<const Reading>> readings;
};

}  // namespace loadline::provider
