// The one truth behind every door (custom metrics API, later KEDA, queries, the page): reads one
// immutable view.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "kube/label_selector.h"
#include "provider/metric.h"
#include "provider/reading.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loadline::provider {

struct PodMetricQuery {
  std::string namespace_name;
  std::string pod;  // a name, or "*": all that labels select
  kube::LabelSelector labels;
  std::string metric;
};

struct PodMetricItem {
  std::string pod;
  MetricValue value;
};

// Thread-safe: any thread may ask, nothing waits.
class MetricsProvider {
 public:
  virtual ~MetricsProvider() = default;

  virtual std::shared_ptr<const View> view() const = 0;

  // The served values, sorted by pod name, at least one. Otherwise kNotFound with a message that
  // tells apart: the metric's name is unknown; no pod matches; pods match but each is left out
  // (with the reasons counted and the newest age). kUnavailable before the first complete list of
  // pods.
  virtual Result<std::vector<PodMetricItem>> pod_metric(const PodMetricQuery& query) const = 0;
};

}  // namespace loadline::provider
