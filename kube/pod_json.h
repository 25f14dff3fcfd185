// The JSON half of pod_decode.h and watch_frame.h. A list is read in one pass that holds one item
// at a time. Pure.
#pragma once

#include "base/result.h"
#include "kube/pod_decode.h"
#include "kube/watch_event.h"

#include <string_view>

namespace loadline::kube {

Result<PodList> decode_pod_list_json(std::string_view text);
Result<ApiStatus> decode_status_json(std::string_view text);

// {"type": …, "object": …}
Result<WatchEvent> decode_watch_event_json(std::string_view text);

}  // namespace loadline::kube
