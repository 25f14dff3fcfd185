#include "base/clock.h"

#include <fmt/chrono.h>

#include <ctime>

namespace loadline {
namespace {

class SystemClock final : public Clock {
 public:
  SteadyTime steady_now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

double to_seconds(SteadyTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string rfc3339(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t t = std::chrono::system_clock::to_time_t(seconds);
  std::tm utc{};
  gmtime_r(&t, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace loadline
