#include "provider/pod_state.h"

#include "base/log.h"
#include "provider/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace loadline::provider {
namespace {

constexpr int kFreshIntervals = 3;

std::optional<double> sum(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional<double>(*a + *b) : std::nullopt;
}

}  // namespace

PodState::PodState(const estimator::ClassicOptions& classic, bool there_before_us)
    : classic_options_(classic), there_before_us_(there_before_us), classic_(classic) {}

void PodState::set_pod(const kube::PodPtr& pod, const DiscoveryConfig& config) {
  if (pod == pod_) return;
  pod_ = pod;
  started_ = started_ || pod->ready;
  Discovered found = discover(*pod, config);
  if (found.asked_for && !found.target && found.detail != discovered_.detail) {
    log_warning("pod has no target", kv("pod", kube::pod_ref(*pod)), kv("reason", found.detail));
  }
  discovered_ = std::move(found);
}

void PodState::take(const scrape::ScrapeResult& page, const std::vector<EngineProfile>& profiles) {
  if (!discovered_.target) return;  // an answer that was under way when the pod went
  const std::string ref = kube::pod_ref(*pod_);
  if (page.failure != scrape::ScrapeFailure::kNone) {
    tried_ = true;  // the scraper has logged it
    failure_ = fmt::format("{}: {:.256}", to_string(page.failure), page.message);
    return;
  }
  if (tried_ && page.time <= newest_.sampled) return;
  tried_ = true;
  failure_.clear();
  newest_.sampled = page.time;
  newest_.sampled_wall = page.wall_time;
  newest_.fresh_until = page.time + kFreshIntervals * discovered_.target->interval;
  newest_.signals = {};
  newest_.estimate = {};
  newest_.values = {};
  const auto& wanted = *discovered_.target->wanted;
  const EngineProfile* profile = detect(profiles, page, wanted);
  const bool was_unknown = std::exchange(unknown_page_, profile == nullptr);
  if (profile == nullptr) {
    if (!was_unknown) log_info("page of no known engine", kv("pod", ref));
    newest_.engine.clear();
    newest_.model.clear();
    return;
  }
  take_signals(fold(*profile, page, wanted, kFreshIntervals * discovered_.target->interval));
}

void PodState::take_signals(const PageSignals& read) {
  const std::string ref = kube::pod_ref(*pod_);
  if (read.engine != last_engine_) {
    log_info("engine recognised", kv("pod", ref), kv("engine", read.engine),
             kv("model", read.model));
    classic_ = estimator::Classic(classic_options_);
    completed_ = prompt_tokens_ = generation_tokens_ = CounterRate();
  }
  for (const std::string& warning : read.warnings) {
    if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) {
      log_warning("metrics page", kv("pod", ref), kv("warning", warning));
    }
  }
  last_engine_ = newest_.engine = read.engine;
  newest_.model = read.model;
  newest_.signals = read.signals;
  warnings_ = read.warnings;

  const estimator::EngineSignals& s = read.signals;
  // After our own restart nobody remembers which pods were Ready; one with requests must have been
  // (field case B44).
  if (there_before_us_ && s.running.value_or(0) + s.waiting.value_or(0) > 0) started_ = true;

  put(PodMetric::kRequestsRunning, s.running);
  put(PodMetric::kRequestsWaiting, s.waiting);
  put(PodMetric::kRequestsInFlight, sum(s.running, s.waiting));
  newest_.estimate = estimate(read);
  const std::optional<double> window_s = classic_options_.window_s > 0
                                             ? std::optional<double>(classic_options_.window_s)
                                             : std::nullopt;
  put(PodMetric::kCapacity, newest_.estimate.capacity, window_s);
  put(PodMetric::kCapacityMessages, newest_.estimate.capacity_messages, window_s);
  put_rate(PodMetric::kPromptTokensPerSecond, prompt_tokens_, s.prompt_tokens_total,
           read.prompt_tokens);
  put_rate(PodMetric::kGenerationTokensPerSecond, generation_tokens_, s.generation_tokens_total,
           read.generation_tokens);
}

// Where one of several data-parallel engines restarts, the sum over all may still grow. The
// estimator sees sums only, so it is given a total of our own that grows with the page's and goes
// back where a series did.
estimator::Estimate PodState::estimate(const PageSignals& read) {
  estimator::EngineSignals signals = read.signals;
  if (signals.completed_total) {
    switch (completed_.add(signals.t_s, *signals.completed_total, read.completed)) {
      case CounterRate::Step::kFirst:
        estimator_completed_ = *signals.completed_total;
        break;
      case CounterRate::Step::kGrew:
        estimator_completed_ += completed_.growth();
        break;
      case CounterRate::Step::kReset:
        estimator_completed_ /= 2;
        break;
      case CounterRate::Step::kNoTime:
        break;
    }
    signals.completed_total = estimator_completed_;
    if (const auto rate = completed_.rate()) {
      put(PodMetric::kCompletionsPerSecond, rate->per_second, rate->window_s);
    }
  }
  return classic_.update(signals);
}

void PodState::put(PodMetric metric, std::optional<double> value, std::optional<double> window_s) {
  if (!value || !std::isfinite(*value) || *value < 0) return;
  MetricValue& served = newest_.values.at(static_cast<std::size_t>(metric)).emplace();
  served.value = *value;
  served.timestamp = newest_.sampled_wall;
  if (window_s) served.window = std::chrono::seconds(std::max(1L, std::lround(*window_s)));
}

void PodState::put_rate(PodMetric metric, CounterRate& rate, const std::optional<double>& total,
                        const std::vector<CounterSeries>& series) {
  if (!total) return;
  rate.add(newest_.signals.t_s, *total, series);
  if (const auto now = rate.rate()) put(metric, now->per_second, now->window_s);
}

LeftOut PodState::left_out(SteadyTime now) const {
  if (discovered_.left_out == LeftOut::kNotRunning ||
      discovered_.left_out == LeftOut::kTerminating) {
    return discovered_.left_out;
  }
  if (!pod_->ready && !started_) return LeftOut::kNeverReady;
  if (!discovered_.target) return LeftOut::kNoTarget;
  if (!tried_) return LeftOut::kNotScraped;
  const bool fresh = newest_.sampled != SteadyTime{} && now < newest_.fresh_until;
  if (!failure_.empty() && !fresh) return LeftOut::kScrapeFailed;
  if (newest_.engine.empty()) return LeftOut::kUnknownEngine;
  return fresh ? LeftOut::kNot : LeftOut::kStale;
}

std::string PodState::detail(LeftOut reason) const {
  switch (reason) {
    case LeftOut::kNeverReady:
      return "was never Ready";
    case LeftOut::kNotScraped:
      return "its first scrape has not ended";
    case LeftOut::kScrapeFailed:
      return failure_;
    case LeftOut::kUnknownEngine:
      return "its page is of no engine that has a profile";
    default:
      return discovered_.detail;
  }
}

std::shared_ptr<const Reading> PodState::reading(SteadyTime now) const {
  auto reading = std::make_shared<Reading>(newest_);
  reading->pod = pod_;
  reading->left_out = left_out(now);
  reading->detail = detail(reading->left_out);
  if (reading->left_out != LeftOut::kNot) reading->values = {};
  return reading;
}

}  // namespace loadline::provider
