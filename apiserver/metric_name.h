// Which metric names can be asked for. A name is one segment of a URL path, so the rule is that of
// Kubernetes for such segments: anything but ".", "..", "/" and "%" (field case B07). ":" and "|"
// are fine. Pure.
#pragma once

#include "base/result.h"

#include <string_view>

namespace loadline::apiserver {

// Whether a name may stand in a path; kBadRequest says what it may not contain.
Status check_metric_name(std::string_view name);

// The same, and not "*", which is the wildcard of object names and would mislead readers of the
// discovery documents.
Status check_advertised_metric_name(std::string_view name);

}  // namespace loadline::apiserver
