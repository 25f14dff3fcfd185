#include "provider/collector.h"

#include <utility>

namespace loadline::provider {

Collector::Collector(CollectorConfig config, std::vector<EngineProfile> profiles,
                     const Clock& clock, Snapshot<View>& view, SetTargets set_targets)
    : config_(std::move(config)),
      profiles_(std::move(profiles)),
      clock_(clock),
      view_(view),
      set_targets_(std::move(set_targets)) {
  if (config_.discovery.wanted) return;
  const DiscoveryConfig of_profiles = discovery_config(profiles_);
  config_.discovery.wanted = of_profiles.wanted;
  config_.discovery.engine_pages = of_profiles.engine_pages;
}

void Collector::on_pods(const std::shared_ptr<const kube::PodSet>& pods) {
  pods_ = pods;
  ++round_;
  ordered_.clear();
  ordered_.reserve(pods->pods.size());
  const SteadyTime now = clock_.steady_now();
  for (const kube::PodPtr& pod : pods->pods) {
    std::unique_ptr<Entry>& entry = entries_[pod->uid];
    if (!entry) entry = std::make_unique<Entry>(config_.classic, !synced_);
    if (!entry->reading || entry->reading->pod != pod) {
      entry->state.set_pod(pod, config_.discovery);
      entry->reading = entry->state.reading(now);
    }
    entry->round = round_;
    ordered_.push_back(entry.get());
  }
  std::erase_if(entries_, [&](const auto& item) { return item.second->round != round_; });
  update_targets();
  publish();
}

void Collector::update_targets() {
  std::vector<scrape::Target> targets;
  for (const Entry* entry : ordered_) {
    if (const auto& target = entry->state.discovered().target) targets.push_back(*target);
  }
  if (pods_->synced && !synced_) {
    synced_ = true;
    for (const auto& target : targets) first_scrapes_.insert(target.id);
  }
  if (targets == targets_) return;
  std::unordered_set<std::string> ids;
  for (const auto& target : targets) ids.insert(target.id);
  std::erase_if(first_scrapes_, [&](const std::string& id) { return !ids.contains(id); });
  targets_ = std::move(targets);
  set_targets_(targets_);
}

void Collector::on_scrape(const std::shared_ptr<const scrape::ScrapeResult>& page) {
  const auto it = entries_.find(page->target_id);
  if (it == entries_.end()) return;
  Entry& entry = *it->second;
  const SteadyTime now = clock_.steady_now();
  entry.state.take(*page, profiles_);
  entry.reading = entry.state.reading(now);
  first_scrapes_.erase(page->target_id);
  waiting_ = true;
  if (now - published_ >= config_.publish_every) publish();
}

void Collector::flush() {
  if (waiting_) publish();
}

void Collector::publish() {
  auto view = std::make_shared<View>();
  view->generation = ++generation_;
  view->pods_synced = synced_;
  view->first_scrapes_done = synced_ && first_scrapes_.empty();
  view->problem = pods_->problem;
  view->readings.reserve(ordered_.size());
  for (const Entry* entry : ordered_) view->readings.push_back(entry->reading);
  view_.publish(std::move(view));
  published_ = clock_.steady_now();
  waiting_ = false;
}

}  // namespace loadline::provider
