// All that is remembered of one pod, from its first sight to its deletion: keyed by uid, so that a
// new pod under an old name starts anew (field case B42). Data loop only.
#pragma once

#include "estimator/classic.h"
#include "kube/pod.h"
#include "provider/counter_rate.h"
#include "provider/discovery.h"
#include "provider/engine_profile.h"
#include "provider/reading.h"
#include "scrape/scrape_result.h"

#include <memory>
#include <string>
#include <vector>

namespace loadline::provider {

class PodState {
 public:
  // there_before_us: the pod was in the first list, so its past is not known: running requests on
  // its page count as "was Ready".
  PodState(const estimator::ClassicOptions& classic, bool there_before_us);

  void set_pod(const kube::PodPtr& pod, const DiscoveryConfig& config);

  // One scrape of this pod, good or failed.
  void take(const scrape::ScrapeResult& page, const std::vector<EngineProfile>& profiles);

  const Discovered& discovered() const { return discovered_; }

  // Values only where it is served.
  std::shared_ptr<const Reading> reading(SteadyTime now) const;

 private:
  void take_signals(const PageSignals& read);
  estimator::Estimate estimate(const PageSignals& read);
  void put(PodMetric metric, std::optional<double> value, std::optional<double> window_s = {});
  void put_rate(PodMetric metric, CounterRate& rate, const std::optional<double>& total,
                const std::vector<CounterSeries>& series);
  LeftOut left_out(SteadyTime now) const;
  std::string detail(LeftOut reason) const;

  estimator::ClassicOptions classic_options_;
  bool there_before_us_;
  bool started_ = false;       // was Ready once, or must have been
  bool tried_ = false;         // one scrape has ended
  bool unknown_page_ = false;  // the newest good page was of no engine that we know
  kube::PodPtr pod_;
  Discovered discovered_;
  std::string failure_;  // of the newest scrape; empty: it was good
  std::vector<std::string> warnings_;

  estimator::Classic classic_;
  double estimator_completed_ = 0;  // see estimate()
  CounterRate completed_, prompt_tokens_, generation_tokens_;
  std::string last_engine_;  // the last one recognised

  Reading newest_;  // what the newest good page said; pod, left_out and detail are filled in by
                    // reading()
};

}  // namespace loadline::provider
