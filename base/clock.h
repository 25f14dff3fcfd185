// Time as an interface, so that tests own it. Steady time orders and measures; wall time is only
// shown to people and put into answers. Nothing outside base/clock.cc asks a std clock.
#pragma once

#include <chrono>
#include <string>

namespace loadline {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime steady_now() const = 0;
  virtual WallTime wall_now() const = 0;
};

// The machine's clocks. Lives for the whole program.
const Clock& system_clock();

// Seconds since the steady clock's epoch: the time line of the estimators.
double to_seconds(SteadyTime time);

// "2026-01-02T03:04:05Z", sub-seconds cut off, as Kubernetes prints metav1.Time.
std::string rfc3339(WallTime time);

}  // namespace loadline
