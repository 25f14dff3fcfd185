#include "kube/pod.h"

namespace loadline::kube {

std::string pod_ref(const Pod& pod) { return pod.namespace_name + "/" + pod.name; }

}  // namespace loadline::kube
