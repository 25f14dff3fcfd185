// From pods and pages to the view that is served: keeps one PodState a pod, tells the scraper what
// to scrape, publishes. Data loop only; the Snapshot is its way out. Never blocks, does no I/O.
#pragma once

#include "base/clock.h"
#include "base/snapshot.h"
#include "estimator/classic.h"
#include "kube/pod_source.h"
#include "provider/discovery.h"
#include "provider/engine_profile.h"
#include "provider/pod_state.h"
#include "provider/reading.h"
#include "scrape/scrape_result.h"
#include "scrape/target.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace loadline::provider {

struct CollectorConfig {
  DiscoveryConfig discovery;  // without wanted: wanted and engine_pages are the profiles'
  estimator::ClassicOptions classic;
  // 0: every scrape is published at once (about 25 ns a pod). Above: not more often, and the owner
  // has to call flush() as often, or the last scrapes of a burst wait for the next one.
  std::chrono::milliseconds publish_every{0};
};

class Collector {
 public:
  using SetTargets = std::function<void(std::vector<scrape::Target>)>;

  // clock, view and what set_targets refers to outlive the collector.
  Collector(CollectorConfig config, std::vector<EngineProfile> profiles, const Clock& clock,
            Snapshot<View>& view, SetTargets set_targets);

  // The whole set of pods. Published at once: a pod that is gone or going is never served again.
  void on_pods(const std::shared_ptr<const kube::PodSet>& pods);

  // One scrape, good or failed; of a pod that is not there any more it is dropped.
  void on_scrape(const std::shared_ptr<const scrape::ScrapeResult>& page);

  // Publishes what waits for publish_every.
  void flush();

 private:
  struct Entry {
    Entry(const estimator::ClassicOptions& classic, bool there_before_us)
        : state(classic, there_before_us) {}
    PodState state;
    std::shared_ptr<const Reading> reading;
    std::uint64_t round = 0;  // the last set of pods that it was in
  };

  void update_targets();
  void publish();

  CollectorConfig config_;
  const std::vector<EngineProfile> profiles_;
  const Clock& clock_;
  Snapshot<View>& view_;
  SetTargets set_targets_;

  std::shared_ptr<const kube::PodSet> pods_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;  // by uid
  std::vector<Entry*> ordered_;                                      // as the pods are
  std::vector<scrape::Target> targets_;
  std::uint64_t round_ = 0, generation_ = 0;
  bool synced_ = false;  // a complete list has been seen
  std::unordered_set<std::string>
      first_scrapes_;     // uids of the first complete list that were not tried yet
  bool waiting_ = false;  // something is not published yet
  SteadyTime published_{};
};

}  // namespace loadline::provider
