// A clock that a test moves by hand. It starts at 2026-01-02T03:04:05Z.
#pragma once

#include "base/clock.h"

#include <chrono>

namespace loadline {

class ManualClock final : public Clock {
 public:
  SteadyTime steady_now() const override { return SteadyTime(std::chrono::hours(1)) + since_; }
  WallTime wall_now() const override {
    return WallTime(std::chrono::seconds(1'767'323'045)) + since_;
  }
  void advance(std::chrono::milliseconds by) { since_ += by; }

 private:
  std::chrono::milliseconds since_{0};
};

}  // namespace loadline
