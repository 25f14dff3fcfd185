// Exponential back-off with jitter: the pauses between attempts at something that keeps failing.
// Pure: the generator is seeded by the caller, so a test sees the same pauses each time. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace loadline {

struct BackoffPolicy {
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds most{30'000};
  double factor = 2.0;
  double jitter = 0.5;  // the pause is drawn from [1-jitter, 1] of the step
};

class Backoff {
 public:
  Backoff(BackoffPolicy policy, std::uint64_t seed) : policy_(policy), random_(seed) {}

  // The next pause; each call doubles the step up to the most.
  std::chrono::milliseconds next() {
    const double step =
        step_ == 0 ? static_cast<double>(policy_.first.count()) : step_ * policy_.factor;
    step_ = std::min(step, static_cast<double>(policy_.most.count()));
    std::uniform_real_distribution<double> share(1.0 - policy_.jitter, 1.0);
    return std::chrono::milliseconds(static_cast<std::int64_t>(step_ * share(random_)));
  }

  // After a success.
  void reset() { step_ = 0; }

 private:
  BackoffPolicy policy_;
  std::mt19937_64 random_;
  double step_ = 0;
};

}  // namespace loadline
