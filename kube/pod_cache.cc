#include "kube/pod_cache.h"

namespace loadline::kube {
namespace {

// Versions are opaque: the same text is the same state, and nothing else is known.
bool is_same_state(const Pod& a, const Pod& b) {
  return a.uid == b.uid && !a.resource_version.empty() && a.resource_version == b.resource_version;
}

}  // namespace

bool PodCache::apply(PodPtr pod) {
  Name name(pod->namespace_name, pod->name);
  if (const auto old = name_of_uid_.find(pod->uid);
      old != name_of_uid_.end() && old->second != name) {
    by_name_.erase(old->second);
    name_of_uid_.erase(old);
  }
  PodPtr& place = by_name_[name];
  if (place != nullptr && is_same_state(*place, *pod)) return false;
  if (place != nullptr && place->uid != pod->uid) name_of_uid_.erase(place->uid);
  name_of_uid_.insert_or_assign(pod->uid, std::move(name));
  place = std::move(pod);
  return true;
}

bool PodCache::remove(const Pod& pod) {
  const auto known = name_of_uid_.find(pod.uid);
  if (known == name_of_uid_.end()) return false;
  by_name_.erase(known->second);
  name_of_uid_.erase(known);
  return true;
}

void PodCache::replace(std::vector<PodPtr> pods) {
  PodCache fresh;
  for (PodPtr& pod : pods) {
    const auto known = by_name_.find(Name(pod->namespace_name, pod->name));
    const bool same = known != by_name_.end() && is_same_state(*known->second, *pod);
    fresh.apply(same ? known->second : std::move(pod));
  }
  *this = std::move(fresh);
}

std::vector<PodPtr> PodCache::sorted() const {
  std::vector<PodPtr> pods;
  pods.reserve(by_name_.size());
  for (const auto& [name, pod] : by_name_) pods.push_back(pod);
  return pods;
}

}  // namespace loadline::kube
