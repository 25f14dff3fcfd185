// What the tests of this folder share: a clock moved by hand, pages, pods, and the provider from
// pod set to answer.
#pragma once

#include "base/clock.h"
#include "base/snapshot.h"
#include "kube/pod.h"
#include "provider/collector.h"
#include "provider/pod_metrics.h"
#include "scrape/exposition.h"
#include "scrape/wanted_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loadline::provider {

class HandClock final : public Clock {
 public:
  SteadyTime steady_now() const override { return SteadyTime(std::chrono::hours(1)) + since_; }
  WallTime wall_now() const override {
    return WallTime(std::chrono::seconds(1'767'323'045)) + since_;
  }
  void set(double t_s) { since_ = std::chrono::milliseconds(std::llround(t_s * 1000)); }

 private:
  std::chrono::milliseconds since_{0};
};

inline std::string testdata(const std::string& name) {
  const std::ifstream file(std::string(LOADLINE_SOURCE_DIR) + "/tests/testdata/provider/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << name;
  return text.str();
}

inline scrape::ScrapeResult scan(std::string_view text, const scrape::WantedNames& wanted,
                                 scrape::PageFormat format = scrape::PageFormat::kText) {
  scrape::ScrapeResult page;
  page.wall_time = WallTime(std::chrono::seconds(1'767'323'045));  // 2026-01-02T03:04:05Z
  page.time = SteadyTime(std::chrono::hours(1));
  scrape::ExpositionScanner scanner(wanted, page, format);
  scanner.feed(text);
  scanner.finish();
  return page;
}

// A vLLM page with what a test is about.
struct Page {
  std::map<std::string, double> samples;
  std::string text() const {
    std::ostringstream out;
    out.precision(17);
    for (const auto& [name, value] : samples)
      out << "vllm:" << name << "{model_name=\"m\"} " << value << "\n";
    return out.str();
  }
};

inline kube::Pod engine_pod(const std::string& name, const std::string& uid) {
  kube::Pod pod;
  pod.uid = uid;
  pod.namespace_name = "ns1";
  pod.name = name;
  pod.labels = {{"app", "llm"}};
  pod.annotations = {{"prometheus.io/scrape", "true"}, {"prometheus.io/port", "8000"}};
  pod.phase = kube::PodPhase::kRunning;
  pod.ready = true;
  pod.pod_ip = "10.0.0.1";
  return pod;
}

// Collector and PodMetrics on one clock; pages come in as text.
class Rig {
 public:
  explicit Rig(CollectorConfig config = {},
               std::vector<EngineProfile> profiles = built_in_profiles())
      : wanted_(std::make_shared<const scrape::WantedNames>(wanted_sample_names(profiles))),
        collector_(std::move(config), std::move(profiles), clock, view,
                   [this](std::vector<scrape::Target> now) {
                     targets = std::move(now);
                     ++target_changes;
                   }),
        metrics(view, clock) {}

  void pods(const std::vector<kube::Pod>& pods, bool synced = true) {
    auto set = std::make_shared<kube::PodSet>();
    set->synced = synced;
    for (const auto& pod : pods) set->pods.push_back(std::make_shared<const kube::Pod>(pod));
    std::sort(set->pods.begin(), set->pods.end(), [](const kube::PodPtr& a, const kube::PodPtr& b) {
      return std::pair(a->namespace_name, a->name) < std::pair(b->namespace_name, b->name);
    });
    collector_.on_pods(set);
  }

  void page(const std::string& uid, const std::string& text) { deliver(uid, scan(text, *wanted_)); }

  void failed(const std::string& uid, scrape::ScrapeFailure failure, const std::string& message) {
    scrape::ScrapeResult page;
    page.failure = failure;
    page.message = message;
    deliver(uid, std::move(page));
  }

  Result<std::vector<PodMetricItem>> ask(const std::string& metric, const std::string& labels = "",
                                         const std::string& pod = "*") const {
    PodMetricQuery query;
    query.namespace_name = "ns1";
    query.pod = pod;
    query.metric = metric;
    query.labels = kube::LabelSelector::parse(labels).value();
    return metrics.pod_metric(query);
  }

  // The items as a map; empty where the answer is an error.
  std::map<std::string, double> items(const std::string& metric) const {
    std::map<std::string, double> found;
    const auto answer = ask(metric);
    if (!answer) return found;
    for (const auto& item : *answer) {
      EXPECT_TRUE(found.emplace(item.pod, item.value.value).second)
          << "two items named " << item.pod;
    }
    return found;
  }

  const Reading& reading(const std::string& pod) const {
    const auto now = view.get();
    for (const auto& reading : now->readings) {
      if (reading->pod->name == pod) return *reading;
    }
    ADD_FAILURE() << "no reading of " << pod;
    static const Reading kNone;
    return kNone;
  }

  HandClock clock;
  Snapshot<View> view{std::make_shared<const View>()};
  std::vector<scrape::Target> targets;
  int target_changes = 0;

 private:
  void deliver(const std::string& uid, scrape::ScrapeResult page) {
    page.target_id = uid;
    page.time = clock.steady_now();
    page.wall_time = clock.wall_now();
    collector_.on_scrape(std::make_shared<const scrape::ScrapeResult>(std::move(page)));
  }

  std::shared_ptr<const scrape::WantedNames> wanted_;
  Collector collector_;

 public:
  PodMetrics metrics;
  Collector& collector() { return collector_; }
};

using Items = std::map<std::string, double>;

}  // namespace loadline::provider
