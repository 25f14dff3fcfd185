// Answers questions about pods from the newest view, and from the clock: what went stale since is
// left out.
#pragma once

#include "base/clock.h"
#include "base/metrics.h"
#include "base/snapshot.h"
#include "provider/metrics_provider.h"

#include <memory>
#include <vector>

namespace loadline::provider {

// How the questions ended, for our own metrics page.
struct QueryMetrics {
  Counter served_total, unknown_metric_total, no_pod_total, left_out_total, not_synced_total;
};

// Thread-safe. view and clock outlive it.
class PodMetrics final : public MetricsProvider {
 public:
  PodMetrics(const Snapshot<View>& view, const Clock& clock) : view_(view), clock_(clock) {}

  std::shared_ptr<const View> view() const override { return view_.get(); }
  Result<std::vector<PodMetricItem>> pod_metric(const PodMetricQuery& query) const override;

  const QueryMetrics& metrics() const { return metrics_; }

 private:
  const Snapshot<View>& view_;
  const Clock& clock_;
  mutable QueryMetrics metrics_;
};

}  // namespace loadline::provider
