// Pods from a file that holds what `kubectl get pods -o yaml` (or json) prints: a Pod, PodList or
// List, in YAML also several documents. Read anew when its content changes; a broken file leaves
// the last good pods in place and tells its problem. Data loop only, but for snapshot().
#pragma once

#include "base/result.h"
#include "base/snapshot.h"
#include "kube/pod_source.h"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace loadline::kube {

// For start-up: the file's pods, or one line that names the file, the place and the cure. At most
// 16 MiB; YAML without anchors and aliases, as kubectl writes it.
Result<PodSet> load_pod_file(const std::string& path);

class PodFile final : public PodSource {
 public:
  explicit PodFile(std::string path,
                   std::chrono::milliseconds poll_interval = std::chrono::seconds(1));

  boost::asio::awaitable<void> run(Listener listener) override;
  std::shared_ptr<const PodSet> snapshot() const override { return snapshot_.get(); }

  // What run() does at each interval. true: a new set was published.
  bool poll(const Listener& listener);

 private:
  std::string path_;
  std::chrono::milliseconds poll_interval_;
  std::optional<std::size_t> content_hash_;  // of the bytes last looked at
  Snapshot<PodSet> snapshot_{std::make_shared<const PodSet>()};
};

}  // namespace loadline::kube
