// MetricValueList of custom.metrics.k8s.io as JSON, written straight into a string: members in the
// order of Go's encoder, one line end at the end. Pure. About 0.11 µs an item. Source:
// k8s.io/metrics pkg/apis/custom_metrics.
#pragma once

#include "base/result.h"
#include "kube/label_selector.h"
#include "provider/metrics_provider.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::apiserver {

enum class CustomVersion { kV1Beta1, kV1Beta2 };

// Nothing for a version that we do not serve.
std::optional<CustomVersion> custom_version(std::string_view version);

// The selector as a LabelSelector object, "null" when it is empty. kBadRequest for > and <, which
// the object cannot hold.
Result<std::string> label_selector_json(const kube::LabelSelector& selector);

// Values are described by pods of the namespace. selector_json: see label_selector_json().
std::string pod_metric_list_json(CustomVersion version, std::string_view namespace_name,
                                 std::string_view metric, std::string_view selector_json,
                                 const std::vector<provider::PodMetricItem>& items);

}  // namespace loadline::apiserver
