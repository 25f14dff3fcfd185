// The grammar of one sample line of the text exposition: name, labels, value, time stamp, exemplar.
// Pure; no state but a scratch buffer. Accepts what Prometheus accepts and the spacing seen in the
// field; refuses hexadecimal numbers, values out of double's range, unknown syntax, label names
// that stand twice, and bytes that are not UTF-8.
#pragma once

#include "scrape/scrape_result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loadline::scrape {

inline constexpr std::size_t kMostLabels = 64;  // a sample with more is refused

// What the Content-Type says. kOpenMetrics: time stamps are seconds, and the page must end with "#
// EOF". kText: an integer time stamp is milliseconds, one with a decimal point is seconds all the
// same.
enum class PageFormat { kText, kOpenMetrics };

// Views are into the line or into the parser; valid until its next call.
struct ParsedLine {
  std::string_view name;
  std::array<Label, kMostLabels> labels;  // sorted by name, unique
  std::uint32_t label_count = 0;
  double value = 0;
  std::optional<std::int64_t> timestamp_ms;
};

constexpr bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}
constexpr bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

// The length of the name that `line` begins with; 0 where it begins with none (then it may stand
// quoted in the braces).
std::size_t name_length(std::string_view line);

class LineParser {
 public:
  explicit LineParser(PageFormat format) : format_(format) {}

  // REQUIRES: no blanks in front, no line end; name_bytes == name_length(line). false: malformed.
  bool parse(std::string_view line, std::size_t name_bytes, ParsedLine& into);

 private:
  bool braces(const char*& at, const char* end, ParsedLine* into);
  bool quoted(const char*& at, const char* end, std::string_view& text);
  bool exemplar(const char*& at, const char* end);
  bool unescape(const char*& at, const char* end, std::string_view& text);

  PageFormat format_;
  std::string unescaped_;
  std::size_t line_bytes_ = 0;
};

}  // namespace loadline::scrape
