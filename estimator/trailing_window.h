// Entries of the last so many seconds, oldest first. An entry has a member t_s. Not thread-safe.
// Bounded: past kMostEntries the oldest go, whatever the window says.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace loadline::estimator {

template <class Entry>
class TrailingWindow {
 public:
  static constexpr std::size_t kMostEntries = 65'536;

  // window_s 0 keeps entries of any age.
  explicit TrailingWindow(double window_s) : window_s_(window_s) {}

  void push(Entry entry) {
    if (entries_.size() == kMostEntries) entries_.pop_front();
    entries_.push_back(std::move(entry));
  }

  // Drops what is older than the window; an entry of exactly the window's age stays. Entries need
  // not be in the order of their times: a clock that went back leaves younger ones in front.
  void evict(double now_s) {
    if (window_s_ <= 0) return;
    std::erase_if(entries_, [&](const Entry& entry) { return entry.t_s < now_s - window_s_; });
  }

  const std::deque<Entry>& entries() const { return entries_; }

 private:
  double window_s_;
  std::deque<Entry> entries_;
};

}  // namespace loadline::estimator
