// One event of a watch on pods. Immutable value.
#pragma once

#include "base/result.h"
#include "kube/pod_decode.h"

#include <string>
#include <string_view>

namespace loadline::kube {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kBookmark;
  PodPtr pod;                    // kAdded, kModified, kDeleted; null otherwise
  std::string resource_version;  // all but kError
  ApiStatus status;              // kError
};

// The word on the wire. kBadRequest: none of the five.
Result<WatchEventType> parse_watch_event_type(std::string_view text);

}  // namespace loadline::kube
