// The only bridge between the loops: the newest immutable T, published by one loop and read by any
// thread. Thread-safe. A mutex around a pointer swap, because libstdc++ 12's atomic<shared_ptr> is
// a data race to ThreadSanitizer (docs/architecture.md).
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace loadline {

template <class T>
class Snapshot {
 public:
  explicit Snapshot(std::shared_ptr<const T> initial) : value_(std::move(initial)) {}

  // Never null when the initial value was not.
  std::shared_ptr<const T> get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

  void publish(std::shared_ptr<const T> value) {
    {
      const std::lock_guard lock(mutex_);
      value_.swap(value);
    }
    // The old value dies here, outside the lock.
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace loadline
