#include "base/log.h"

#include "base/clock.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cmath>
#include <unistd.h>

namespace loadline {
namespace {

std::atomic<LogLevel> least_level{LogLevel::kInfo};

constexpr std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

}  // namespace

void set_log_level(LogLevel level) { least_level = level; }

std::string json_quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

LogPair kv(std::string_view key, std::string_view value) { return {key, json_quote(value)}; }
LogPair kv(std::string_view key, const char* value) { return kv(key, std::string_view(value)); }
LogPair kv(std::string_view key, bool value) { return {key, value ? "true" : "false"}; }
LogPair kv(std::string_view key, double value) {
  return {key, std::isfinite(value) ? fmt::format("{}", value) : fmt::format("\"{}\"", value)};
}

void write_log(LogLevel level, std::string_view message, std::initializer_list<LogPair> pairs) {
  if (level < least_level.load(std::memory_order_relaxed)) return;
  std::string line =
      fmt::format(R"({{"ts":"{}","level":"{}","msg":{})", rfc3339(system_clock().wall_now()),
                  level_name(level), json_quote(message));
  for (const LogPair& pair : pairs) line += fmt::format(",{}:{}", json_quote(pair.key), pair.json);
  line += "}\n";
  // A log that cannot be written must not stop the server.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace loadline
