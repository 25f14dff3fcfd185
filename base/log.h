// Structured log: one JSON object a line on stderr, a constant sentence and typed pairs, as klog's
// InfoS.
//   log_info("target added", kv("pod", "ns/a"), kv("port", 8000));
// Thread-safe: a line is written by one write(2). Secrets never go in: there is no kv for a Secret.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace loadline {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Lines below this level are dropped. Default kInfo.
void set_log_level(LogLevel level);

struct LogPair {
  std::string_view key;
  std::string json;  // the value, already JSON
};

LogPair kv(std::string_view key, std::string_view value);
LogPair kv(std::string_view key, const char* value);
LogPair kv(std::string_view key, double value);
LogPair kv(std::string_view key, bool value);
template <std::integral T>
LogPair kv(std::string_view key, T value) {
  return {key, std::to_string(value)};
}

void write_log(LogLevel level, std::string_view message, std::initializer_list<LogPair> pairs);

template <class... Pairs>
void log_debug(std::string_view message, Pairs&&... pairs) {
  write_log(LogLevel::kDebug, message, {std::forward<Pairs>(pairs)...});
}
template <class... Pairs>
void log_info(std::string_view message, Pairs&&... pairs) {
  write_log(LogLevel::kInfo, message, {std::forward<Pairs>(pairs)...});
}
template <class... Pairs>
void log_warning(std::string_view message, Pairs&&... pairs) {
  write_log(LogLevel::kWarning, message, {std::forward<Pairs>(pairs)...});
}
template <class... Pairs>
void log_error(std::string_view message, Pairs&&... pairs) {
  write_log(LogLevel::kError, message, {std::forward<Pairs>(pairs)...});
}

// text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace loadline
