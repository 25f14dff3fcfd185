// List-and-watch as a state machine: told what the API server answered, it says what to ask next,
// and keeps the pods that follow from the answers. Resource versions are opaque. Bookmarks move the
// version and nothing else. A watch that ends goes on from the last version without a list; only an
// expired version (410, as an HTTP status or as an ERROR event), a stream that cannot be read or a
// watch that keeps being refused makes a new list, whose pods replace all others at once. Pure:
// time comes in, jitter is seeded. Not thread-safe.
#pragma once

#include "base/backoff.h"
#include "base/clock.h"
#include "kube/pod_cache.h"
#include "kube/pod_decode.h"
#include "kube/watch_event.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loadline::kube {

struct ListWatchPolicy {
  // At most 8 s: after an outage of any length the pods are right again within 10 s.
  BackoffPolicy list{std::chrono::milliseconds(1'000), std::chrono::milliseconds(8'000), 2.0, 0.5};
  BackoffPolicy watch{std::chrono::milliseconds(500), std::chrono::milliseconds(8'000), 2.0, 0.5};
  std::chrono::milliseconds between_lists{1'000};  // from the start of one to the start of the next
  std::chrono::milliseconds healthy_watch{
      5'000};  // one that lasted so long clears what failed before
  std::chrono::milliseconds most_retry_after{60'000};
  int refused_watches_before_list =
      4;  // a version that the server will never serve has other codes than 410, too
  std::size_t most_pods = 300'000;  // twice what Kubernetes promises to carry
  std::size_t most_pages = 10'000;
};

class ListWatch {
 public:
  enum class Step { kList, kWatch, kWait };
  struct Action {
    Step step = Step::kList;
    std::chrono::milliseconds wait{0};  // kWait, more than 0
    std::string continue_token;         // kList: empty, or the page to go on with
    std::string resource_version;       // kWatch: from here
  };
  struct Failure {
    int status = 0;  // HTTP; 0: there was no answer
    std::optional<std::chrono::milliseconds> retry_after;
  };

  explicit ListWatch(ListWatchPolicy policy = {}, std::uint64_t seed = 0);

  // What to do now. The answer to a kList or kWatch is told by the calls below before this is asked
  // again.
  Action next(SteadyTime now);

  // A page of the list. Pages gather until the last one, which replaces the pods: then true.
  // kBadRequest and kTooLarge: the list cannot be used; the machine has noted it as a failure.
  Result<bool> list_page(PodList page, SteadyTime now);
  void list_failed(Failure failure, SteadyTime now);

  void watch_opened(SteadyTime now);
  // false: nothing further of this stream may be read.
  bool watch_event(const WatchEvent& event, SteadyTime now);
  void watch_malformed(SteadyTime now);
  // The end of the stream, as a server makes it when its time is up.
  void watch_ended(SteadyTime now);
  // Not opened (an HTTP status), or not reached, or cut.
  void watch_failed(Failure failure, SteadyTime now);

  bool synced() const { return synced_; }
  const PodCache& pods() const { return pods_; }
  // Grows with every change of pods().
  std::uint64_t changes() const { return changes_; }
  // Complete lists begun: the first and all relists.
  std::uint64_t lists() const { return lists_; }

 private:
  enum class State { kListing, kWatching };

  void relist(SteadyTime now);
  void start_over();
  void pause(std::chrono::milliseconds backoff, const Failure& failure, SteadyTime now);
  bool close_stream(SteadyTime now);

  ListWatchPolicy policy_;
  Backoff list_backoff_, watch_backoff_, relist_backoff_;
  State state_ = State::kListing;
  std::string continue_token_, version_;
  std::string list_version_;      // of the first page of the list under way
  std::vector<PodPtr> gathered_;  // the pages so far
  std::size_t pages_ = 0;
  SteadyTime not_before_{};
  std::optional<SteadyTime> list_began_, stream_opened_;
  bool stream_over_ = false;  // an ERROR event came: the end of the body tells nothing new
  int refused_watches_ = 0;   // in a row, without an event between them
  bool synced_ = false;
  std::uint64_t changes_ = 0, lists_ = 0;
  PodCache pods_;
};

}  // namespace loadline::kube
