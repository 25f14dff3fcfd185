#include "provider/pod_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace loadline::provider {
namespace {

using ReadingPtr = std::shared_ptr<const Reading>;

// A part of the question in a message, cut: it may be anything.
std::string shown(std::string_view text) { return fmt::format("\"{:.253}\"", text); }

std::vector<const Reading*> matching(const View& view, const PodMetricQuery& query) {
  std::vector<const Reading*> found;
  auto it = std::lower_bound(
      view.readings.begin(), view.readings.end(), query.namespace_name,
      [](const ReadingPtr& r, const std::string& ns) { return r->pod->namespace_name < ns; });
  for (; it != view.readings.end() && (*it)->pod->namespace_name == query.namespace_name; ++it) {
    const kube::Pod& pod = *(*it)->pod;
    if (query.pod == "*" ? query.labels.matches(pod.labels) : pod.name == query.pod)
      found.push_back(it->get());
  }
  return found;
}

std::string unknown_metric(const PodMetricQuery& query) {
  std::string names;
  for (std::size_t i = 0; i < kPodMetrics; ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", info(static_cast<PodMetric>(i)).name);
  }
  return fmt::format("pods have no metric {}; there are {}", shown(query.metric), names);
}

std::string no_pod(const PodMetricQuery& query) {
  if (query.pod != "*") {
    return fmt::format("there is no pod {} in namespace {}", shown(query.pod),
                       shown(query.namespace_name));
  }
  if (query.labels.empty())
    return fmt::format("there is no pod in namespace {}", shown(query.namespace_name));
  return fmt::format("no pod in namespace {} matches the labels {}", shown(query.namespace_name),
                     shown(query.labels.to_string()));
}

// Why one pod that matches has no value.
std::string reason_of(const Reading& reading, LeftOut left_out, PodMetric metric) {
  if (left_out != LeftOut::kNot) return std::string(to_string(left_out));
  const bool estimated = metric == PodMetric::kCapacity || metric == PodMetric::kCapacityMessages;
  const std::string_view why = estimated ? estimator::to_string(reading.estimate.reason) : "";
  return why.empty() ? "signal_missing" : std::string(why);
}

std::string all_left_out(const PodMetricQuery& query, const std::vector<const Reading*>& readings,
                         PodMetric metric, SteadyTime now) {
  std::map<std::string, int> reasons;
  const Reading* newest = nullptr;
  for (const Reading* reading : readings) {
    ++reasons[reason_of(*reading, left_out_at(*reading, now), metric)];
    if (reading->sampled != SteadyTime{} &&
        (newest == nullptr || reading->sampled > newest->sampled))
      newest = reading;
  }
  std::string counts;
  for (const auto& [reason, count] : reasons) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, reason);
  }
  const Reading& first = *readings.front();
  const std::string age =
      newest == nullptr ? "none was ever read"
                        : fmt::format("the newest reading is {:.1f} s old",
                                      std::chrono::duration<double>(now - newest->sampled).count());
  return fmt::format("{}: {} pods match and none has a value: {}; {}: {}; {}", query.metric,
                     readings.size(), counts, kube::pod_ref(*first.pod), first.detail, age);
}

}  // namespace

Result<std::vector<PodMetricItem>> PodMetrics::pod_metric(const PodMetricQuery& query) const {
  const auto metric = pod_metric_named(query.metric);
  if (!metric) {
    metrics_.unknown_metric_total.add();
    return Error(Code::kNotFound, unknown_metric(query));
  }
  const std::shared_ptr<const View> view = view_.get();
  if (!view->pods_synced) {
    metrics_.not_synced_total.add();
    return Error(Code::kUnavailable, fmt::format("the list of pods is not complete yet{}{}",
                                                 view->problem.empty() ? "" : ": ", view->problem));
  }
  const std::vector<const Reading*> readings = matching(*view, query);
  if (readings.empty()) {
    metrics_.no_pod_total.add();
    return Error(Code::kNotFound, no_pod(query));
  }
  const SteadyTime now = clock_.steady_now();
  std::vector<PodMetricItem> items;
  for (const Reading* reading : readings) {
    const auto& value = reading->values.at(static_cast<std::size_t>(*metric));
    if (value && left_out_at(*reading, now) == LeftOut::kNot)
      items.push_back({reading->pod->name, *value});
  }
  if (items.empty()) {
    metrics_.left_out_total.add();
    return Error(Code::kNotFound, all_left_out(query, readings, *metric, now));
  }
  metrics_.served_total.add();
  return items;
}

}  // namespace loadline::provider
