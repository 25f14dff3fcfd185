// What we know of a pod: the fields of core/v1 Pod that decide who is an engine, where its page is
// and whether it counts. Immutable value, shared between loops as shared_ptr<const Pod>.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loadline::kube {

// Sorted, so that two equal maps print alike.
using Labels = std::map<std::string, std::string, std::less<>>;

enum class PodPhase { kUnknown, kPending, kRunning, kSucceeded, kFailed };

struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool controller = false;
};

struct ContainerPort {
  std::string container, name;  // name may be empty
  std::uint16_t number = 0;     // 1..65535
};

struct Pod {
  std::string uid;  // the identity: a reused name is another pod
  std::string namespace_name, name;
  std::string resource_version;  // opaque: compared for equality only
  Labels labels, annotations;
  std::vector<OwnerReference> owners;
  PodPhase phase = PodPhase::kUnknown;
  bool ready = false;                          // condition Ready is True
  std::optional<WallTime> ready_since;         // its last transition, where it is True
  std::optional<WallTime> created, started;    // metadata.creationTimestamp, status.startTime
  std::optional<WallTime> deletion_timestamp;  // set: the pod is terminating
  std::string node_name;
  std::string pod_ip;  // primary, IPv4 or IPv6 literal; empty until assigned
  bool host_network = false;
  std::vector<ContainerPort>
      ports;  // of containers and native sidecars, TCP, in the order of the spec
};

using PodPtr = std::shared_ptr<const Pod>;

// "ns/name", for logs and messages.
std::string pod_ref(const Pod& pod);

}  // namespace loadline::kube
