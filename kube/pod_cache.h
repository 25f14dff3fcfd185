// The pods of one source, as the last list and the events since leave them: every name and every
// uid once. Pure, loop-bound.
#pragma once

#include "kube/pod.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loadline::kube {

class PodCache {
 public:
  // Adds the pod or replaces it; a pod of the same name with another uid was recreated, and the old
  // one is forgotten. false: nothing new (the same uid and resource version).
  bool apply(PodPtr pod);

  // Forgets the pod with this uid. false: there is none, as when a name was taken over before the
  // old pod's end was told.
  bool remove(const Pod& pod);

  // The pods of a complete list and no others. Those that did not change stay the same objects.
  void replace(std::vector<PodPtr> pods);

  std::size_t size() const { return by_name_.size(); }

  // By namespace, then name.
  std::vector<PodPtr> sorted() const;

 private:
  using Name = std::pair<std::string, std::string>;  // namespace, name

  std::map<Name, PodPtr> by_name_;
  std::unordered_map<std::string, Name> name_of_uid_;
};

}  // namespace loadline::kube
