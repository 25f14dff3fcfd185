// The protobuf half of pod_decode.h and watch_frame.h: envelopes "k8s\0" + runtime.Unknown. Pure.
#pragma once

#include "base/result.h"
#include "kube/pod_decode.h"
#include "kube/watch_event.h"

#include <string_view>

namespace loadline::kube {

// Starts with the magic of an envelope.
bool is_protobuf(std::string_view bytes);

Result<PodList> decode_pod_list_protobuf(std::string_view bytes);
Result<ApiStatus> decode_status_protobuf(std::string_view bytes);

// One frame's payload: a bare meta.v1.WatchEvent whose object is an envelope.
Result<WatchEvent> decode_watch_event_protobuf(std::string_view bytes);

}  // namespace loadline::kube
