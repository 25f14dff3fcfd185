// From the API server's bytes to pods: core/v1 Pod, PodList and the List of `kubectl get -o json`,
// as protobuf or JSON. Pure; nothing that comes in is trusted: depth and size of one object are
// bounded, a bad pod does not spoil its list.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "kube/pod.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::kube {

enum class Encoding { kJson, kProtobuf };

// By the Content-Type of an answer, parameters (";stream=watch") aside. Whatever is not protobuf is
// taken for JSON.
Encoding encoding_of(std::string_view content_type);

// One page of a list, in the order of the wire.
struct PodList {
  std::vector<PodPtr> pods;
  std::string resource_version;
  std::string continue_token;    // empty: the last page
  std::size_t skipped = 0;       // items of other kinds
  std::size_t malformed = 0;     // pods that could not be read,
  std::string malformed_reason;  //   and why, of the first
};

// A PodList, a v1 List or a single Pod. kBadRequest when it is none of these; a Status is told by
// its message.
Result<PodList> decode_pod_list(std::string_view bytes, Encoding encoding);

// metav1.Status, as far as a client acts on it.
struct ApiStatus {
  int code = 0;  // 0: none given
  std::string reason, message;
  std::optional<std::chrono::seconds> retry_after;
};

// The body of a failed request: a Status in either encoding; of anything else the first words as
// the message.
ApiStatus decode_status(std::string_view body);

// Values of annotations longer than this are not kept: nobody of ours reads them, and kubectl's own
// is as long as the pod.
inline constexpr std::size_t kMostAnnotationBytes = 1024;

// --- the parts that both encodings share ---

PodPhase parse_phase(std::string_view text);

// Checks and fills what is derived: a pod has a name; one without a uid (never from an API server)
// is known by its "namespace/name"; an address is an IP literal. kBadRequest names the pod and the
// field.
Result<PodPtr> finish_pod(Pod pod);

// Adds the port where it is one that can be scraped: TCP, 1..65535.
void add_port(Pod& pod, std::string_view container, std::string_view name, std::int64_t number,
              std::string_view protocol);

// Beyond what the clock can hold it is clamped.
WallTime wall_time(std::int64_t unix_seconds);

// "2026-01-02T03:04:05Z", with an optional fraction (cut off) and offset. nullopt: not RFC 3339.
std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace loadline::kube
