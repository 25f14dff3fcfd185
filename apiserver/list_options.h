// The query parameters of metric routes, validated as a Kubernetes API server validates
// ListOptions. Pure.
#pragma once

#include "apiserver/request_info.h"
#include "base/result.h"
#include "kube/label_selector.h"

#include <optional>
#include <string>
#include <string_view>

namespace loadline::apiserver {

struct ListOptions {
  kube::LabelSelector labels;         // labelSelector
  kube::LabelSelector metric_labels;  // metricLabelSelector
};

// kBadRequest for what is malformed, and for a fieldSelector that names another object than the
// path.
Result<ListOptions> parse_list_options(const RequestInfo& info);

// Whether the options but for the selectors of labels are well formed; kBadRequest otherwise.
Status check_numeric_options(const QueryParameters& query);

// The name that "metadata.name=NAME" asks for, none when the selector does not; kBadRequest when it
// is malformed.
Result<std::optional<std::string>> name_in_field_selector(std::string_view selector);

}  // namespace loadline::apiserver
