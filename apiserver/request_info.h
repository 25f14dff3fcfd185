// What a request asks for, read from method and target alone: which route, which pieces, and the
// attributes on which authorization decides. These are the attributes that kube-apiserver derives
// from the same path (field case B29), so that a role that works there works here; therefore
// nothing is normalised. Pure. Source: apiserver pkg/endpoints/request/requestinfo.go.
#pragma once

#include "base/result.h"
#include "kube/reviews.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loadline::apiserver {

inline constexpr std::string_view kCustomGroup = "custom.metrics.k8s.io";
inline constexpr std::string_view kExternalGroup = "external.metrics.k8s.io";

enum class Route {
  kPodMetric,        // …/namespaces/NS/pods/NAME/METRIC, NAME may be "*"
  kObjectMetric,     // any other object, namespaced or not
  kNamespaceMetric,  // …/namespaces/NS/metrics/METRIC: the metric of the namespace itself
  kExternalMetric,   // …/namespaces/NS/METRIC of external.metrics.k8s.io
  kShortPath,        // /apis/custom.metrics.k8s.io/VERSION/namespaces/NS/X
  kGroupList,        // /apis
  kGroup,            // /apis/GROUP
  kGroupVersion,     // /apis/GROUP/VERSION
  kOpenApiV2,
  kOpenApiV3,
  kOpenApiV3GroupVersion,
  kVersion,
  kHealth,  // /healthz, /livez, /readyz, and one check below them
  kMetrics,
  kIndex,
  kUnknownInGroup,  // below /apis/GROUP of one of our groups, but none of the above
  kUnknown,
};
inline constexpr std::size_t kRoutes = 17;
std::string_view to_string(Route route);  // "pod_metric", …

// Decoded, in the order of the wire.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

// The first value, nullptr when there is none.
const std::string* find_parameter(const QueryParameters& query, std::string_view name);

struct RequestInfo {
  Route route = Route::kUnknown;
  kube::AccessAttributes attributes;
  std::string group, version;  // of routes below /apis and of kOpenApiV3GroupVersion
  std::string namespace_name;  // metric routes
  std::string resource,
      name;  // kPodMetric, kObjectMetric; kHealth: the endpoint and the check, which may be empty
  std::string metric;  // metric routes
  QueryParameters query;
};

// The target is split at '/' and each segment decoded once; '+' is a blank in the query only.
// kBadRequest for a target that is no path, malformed escapes, control characters, bytes that are
// not UTF-8, and an escaped '/'.
Result<RequestInfo> parse_request(std::string_view method, std::string_view target);

// What Kubernetes' boolean parameters take as true: anything but "0" and "false".
bool is_truthy(std::string_view value);

}  // namespace loadline::apiserver
