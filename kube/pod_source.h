// Where pods come from. Two implementations: PodInformer (the Kubernetes API) and PodFile (what
// `kubectl get pods -o yaml` prints, watched for changes). Data loop only, but for snapshot(),
// which is thread-safe.
#pragma once

#include "base/clock.h"
#include "kube/pod.h"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace loadline::kube {

// All pods of the source at one time. Immutable.
struct PodSet {
  bool synced = false;       // false until the first complete list
  std::vector<PodPtr> pods;  // sorted by namespace, then name; every uid once
  std::string problem;       // the newest failure of the source, empty while it is well
};

class PodSource {
 public:
  // Called on the data loop after each change, never concurrently.
  using Listener = std::function<void(const std::shared_ptr<const PodSet>&)>;

  virtual ~PodSource() = default;

  // Follows the source until cancelled; failures are logged, counted and retried, never thrown.
  virtual boost::asio::awaitable<void> run(Listener listener) = 0;

  // The newest set; never null. Thread-safe.
  virtual std::shared_ptr<const PodSet> snapshot() const = 0;
};

}  // namespace loadline::kube
