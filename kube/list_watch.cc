#include "kube/list_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace loadline::kube {

using std::chrono::milliseconds;

namespace {

constexpr int kGone = 410;
constexpr int kTooManyRequests = 429;

}  // namespace

ListWatch::ListWatch(ListWatchPolicy policy, std::uint64_t seed)
    : policy_(policy),
      list_backoff_(policy.list, seed),
      watch_backoff_(policy.watch, seed + 1),
      relist_backoff_(policy.list, seed + 2) {}

ListWatch::Action ListWatch::next(SteadyTime now) {
  Action action;
  const bool new_list = state_ == State::kListing && continue_token_.empty();
  SteadyTime start = not_before_;
  if (new_list && list_began_) start = std::max(start, *list_began_ + policy_.between_lists);
  if (now < start) {
    action.step = Step::kWait;
    action.wait = std::chrono::ceil<milliseconds>(start - now);
    return action;
  }
  if (state_ == State::kWatching) {
    stream_over_ = false;
    action.step = Step::kWatch;
    action.resource_version = version_;
    return action;
  }
  if (new_list) {
    list_began_ = now;
    ++lists_;
  }
  action.step = Step::kList;
  action.continue_token = continue_token_;
  return action;
}

Result<bool> ListWatch::list_page(PodList page, SteadyTime now) {
  if (pages_ == 0) list_version_ = page.resource_version;
  ++pages_;
  gathered_.insert(gathered_.end(), std::make_move_iterator(page.pods.begin()),
                   std::make_move_iterator(page.pods.end()));
  if (gathered_.size() > policy_.most_pods || pages_ > policy_.most_pages) {
    start_over();
    pause(list_backoff_.next(), {}, now);
    return Error(Code::kTooLarge, "the list of pods has no end");
  }
  if (!page.continue_token.empty()) {
    continue_token_ = std::move(page.continue_token);
    return false;
  }
  if (list_version_.empty()) {
    start_over();
    pause(list_backoff_.next(), {}, now);
    return Error(Code::kBadRequest, "the list of pods has no resourceVersion to watch from");
  }
  pods_.replace(std::move(gathered_));
  version_ = list_version_;
  start_over();
  state_ = State::kWatching;
  synced_ = true;
  refused_watches_ = 0;
  ++changes_;
  list_backoff_.reset();
  return true;
}

void ListWatch::list_failed(Failure failure, SteadyTime now) {
  // A continue token that has expired is of no use any more; after anything else the same page is
  // asked again, which spares a server in trouble the pages that it has already sent.
  if (failure.status == kGone) return relist(now);
  pause(list_backoff_.next(), failure, now);
}

void ListWatch::watch_opened(SteadyTime now) { stream_opened_ = now; }

bool ListWatch::watch_event(const WatchEvent& event, SteadyTime now) {
  if (state_ != State::kWatching || stream_over_) return false;
  if (event.type == WatchEventType::kError) {
    Failure failure;
    failure.status = event.status.code;
    if (event.status.retry_after) failure.retry_after = *event.status.retry_after;
    watch_failed(failure, now);
    stream_over_ = true;
    return false;
  }
  refused_watches_ = 0;
  if (event.pod != nullptr) {
    const bool gone = event.type == WatchEventType::kDeleted;
    if (gone ? pods_.remove(*event.pod) : pods_.apply(event.pod)) ++changes_;
  }
  if (!event.resource_version.empty()) version_ = event.resource_version;
  return true;
}

void ListWatch::watch_malformed(SteadyTime now) { relist(now); }

void ListWatch::watch_ended(SteadyTime now) {
  if (state_ != State::kWatching || stream_over_) return;  // an ERROR event came before
  if (!close_stream(now)) pause(watch_backoff_.next(), {}, now);
}

void ListWatch::watch_failed(Failure failure, SteadyTime now) {
  if (state_ != State::kWatching || stream_over_) return;
  if (failure.status == kGone) return relist(now);
  close_stream(now);
  if (failure.status != 0 && failure.status != kTooManyRequests &&
      ++refused_watches_ >= policy_.refused_watches_before_list) {
    refused_watches_ = 0;
    start_over();
  }
  pause(watch_backoff_.next(), failure, now);
}

void ListWatch::relist(SteadyTime now) {
  close_stream(now);
  start_over();
  pause(relist_backoff_.next(), {}, now);
}

void ListWatch::start_over() {
  state_ = State::kListing;
  continue_token_.clear();
  list_version_.clear();
  gathered_.clear();
  pages_ = 0;
}

void ListWatch::pause(milliseconds backoff, const Failure& failure, SteadyTime now) {
  const milliseconds asked =
      std::min(failure.retry_after.value_or(milliseconds(0)), policy_.most_retry_after);
  not_before_ = std::max(not_before_, now + std::max(backoff, asked));
}

// true: the stream was a healthy one.
bool ListWatch::close_stream(SteadyTime now) {
  const bool healthy = stream_opened_ && now - *stream_opened_ >= policy_.healthy_watch;
  stream_opened_.reset();
  if (healthy) {
    refused_watches_ = 0;
    watch_backoff_.reset();
    relist_backoff_.reset();
  }
  return healthy;
}

}  // namespace loadline::kube
