#include "scrape/exposition_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace loadline::scrape {
namespace {

enum : unsigned { kNameChar = 1, kLabelChar = 2, kPlain = 4 };

// kPlain: stands for itself within quotes, and is ASCII.
constexpr auto kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const char c = static_cast<char>(i);
    const unsigned name = is_name_char(c) ? kNameChar : 0u;
    const unsigned label = is_name_char(c) && c != ':' ? kLabelChar : 0u;
    const unsigned plain = i > 0 && i < 0x80 && c != '"' && c != '\\' ? kPlain : 0u;
    classes[i] = static_cast<std::uint8_t>(name | label | plain);
  }
  return classes;
}();
bool is(char c, unsigned what) { return (kClasses[static_cast<unsigned char>(c)] & what) != 0; }

bool is_label_start(char c) { return is_name_start(c) && c != ':'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

void skip_blanks(const char*& at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
}

bool take(const char*& at, const char* end, char c) {
  if (at == end || *at != c) return false;
  ++at;
  return true;
}

std::string_view take_token(const char*& at, const char* end) {
  const char* begin = at;
  while (at != end && !is_blank(*at)) ++at;
  return {begin, static_cast<std::size_t>(at - begin)};
}

// The bytes of a UTF-8 sequence by its first byte, with the range of the second (RFC 3629's table);
// 0: none begins so.
struct Sequence {
  int bytes;
  unsigned char low, high;
};
Sequence sequence_of(unsigned char first) {
  if (first >= 0xc2 && first <= 0xdf) return {2, 0x80, 0xbf};
  if (first >= 0xe0 && first <= 0xef) {
    return {3, static_cast<unsigned char>(first == 0xe0 ? 0xa0 : 0x80),
            static_cast<unsigned char>(first == 0xed ? 0x9f : 0xbf)};
  }
  if (first >= 0xf0 && first <= 0xf4) {
    return {4, static_cast<unsigned char>(first == 0xf0 ? 0x90 : 0x80),
            static_cast<unsigned char>(first == 0xf4 ? 0x8f : 0xbf)};
  }
  return {0, 0, 0};
}

// UTF-8 without NUL: label values reach JSON answers, which can carry nothing else.
bool is_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      if (byte == 0) return false;
      ++i;
      continue;
    }
    const Sequence sequence = sequence_of(byte);
    if (sequence.bytes == 0 || text.size() - i < static_cast<std::size_t>(sequence.bytes))
      return false;
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if (second < sequence.low || second > sequence.high) return false;
    for (int k = 2; k < sequence.bytes; ++k) {
      if ((static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0xc0) != 0x80)
        return false;
    }
    i += static_cast<std::size_t>(sequence.bytes);
  }
  return true;
}

// Go's float syntax but for hexadecimals and '_'; a signed NaN is accepted, C++ servers print one.
bool to_value(std::string_view token, double& value) {
  if (!token.empty() && token.front() == '+') {
    token.remove_prefix(1);
    if (!token.empty() && token.front() == '-') return false;
  }
  // from_chars would take C's "nan(…)".
  if (token.empty() || token.back() == ')') return false;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return error == std::errc() && end == token.data() + token.size();
}

bool to_seconds_as_ms(std::string_view token, std::int64_t& ms) {
  constexpr double kMostSeconds = 9e12;  // milliseconds stay exact in a double
  double seconds = 0;
  if (!to_value(token, seconds) || !(std::fabs(seconds) < kMostSeconds)) return false;
  ms = std::llround(seconds * 1000);
  return true;
}

bool to_timestamp(std::string_view token, PageFormat format, std::int64_t& ms) {
  if (format == PageFormat::kOpenMetrics || token.find('.') != token.npos)
    return to_seconds_as_ms(token, ms);
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), ms);
  return error == std::errc() && end == token.data() + token.size();
}

bool sort_labels(ParsedLine& line) {
  const auto begin = line.labels.begin();
  const auto end = begin + line.label_count;
  const auto before = [](const Label& a, const Label& b) { return a.name < b.name; };
  if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
  const auto same_name = [](const Label& a, const Label& b) { return a.name == b.name; };
  return std::adjacent_find(begin, end, same_name) == end;
}

}  // namespace

std::size_t name_length(std::string_view line) {
  if (line.empty() || !is_name_start(line.front())) return 0;
  std::size_t n = 1;
  while (n < line.size() && is(line[n], kNameChar)) ++n;
  return n;
}

bool LineParser::parse(std::string_view line, std::size_t name_bytes, ParsedLine& into) {
  const char* at = line.data() + name_bytes;
  const char* const end = line.data() + line.size();
  into.name = line.substr(0, name_bytes);
  into.label_count = 0;
  into.timestamp_ms.reset();
  unescaped_.clear();
  line_bytes_ = line.size();

  skip_blanks(at, end);
  if (at != end && *at == '{') {
    if (!braces(at, end, &into) || !sort_labels(into)) return false;
    skip_blanks(at, end);
  } else if (at == line.data() + name_bytes) {
    return false;  // nothing parts the name from what follows
  }
  if (into.name.empty() || !to_value(take_token(at, end), into.value)) return false;

  skip_blanks(at, end);
  if (at != end && *at != '#') {
    std::int64_t ms = 0;
    if (!to_timestamp(take_token(at, end), format_, ms)) return false;
    into.timestamp_ms = ms;
    skip_blanks(at, end);
  }
  if (at != end && !exemplar(at, end)) return false;
  return at == end;
}

// " # {trace_id="…"} value [seconds]": checked and dropped.
bool LineParser::exemplar(const char*& at, const char* end) {
  if (!take(at, end, '#')) return false;
  skip_blanks(at, end);
  if (at == end || *at != '{' || !braces(at, end, nullptr)) return false;
  skip_blanks(at, end);
  double value = 0;
  if (!to_value(take_token(at, end), value)) return false;
  skip_blanks(at, end);
  std::int64_t ms = 0;
  if (at != end && !to_seconds_as_ms(take_token(at, end), ms)) return false;
  skip_blanks(at, end);
  return true;
}

// {a="x", "b.c"="y",} and, where the line began with no name, {"the.name", a="x"}.
bool LineParser::braces(const char*& at, const char* end, ParsedLine* into) {
  ++at;
  for (std::size_t labels = 0;;) {
    skip_blanks(at, end);
    if (take(at, end, '}')) return true;
    Label label;
    const bool is_quoted = at != end && *at == '"';
    if (is_quoted) {
      if (!quoted(at, end, label.name) || label.name.empty()) return false;
    } else {
      const char* begin = at;
      if (at == end || !is_label_start(*at)) return false;
      while (at != end && is(*at, kLabelChar)) ++at;
      label.name = {begin, static_cast<std::size_t>(at - begin)};
    }
    skip_blanks(at, end);
    if (take(at, end, '=')) {
      skip_blanks(at, end);
      if (!quoted(at, end, label.value) || labels == kMostLabels) return false;
      if (into != nullptr) {
        into->labels[labels] = label;
        into->label_count = static_cast<std::uint32_t>(labels + 1);
      }
      ++labels;
      skip_blanks(at, end);
    } else if (is_quoted && into != nullptr && into->name.empty()) {
      into->name = label.name;
    } else {
      return false;
    }
    if (take(at, end, ',')) continue;
    return take(at, end, '}');
  }
}

bool LineParser::quoted(const char*& at, const char* end, std::string_view& text) {
  if (!take(at, end, '"')) return false;
  const char* const begin = at;
  while (at != end && is(*at, kPlain)) ++at;
  const bool plain = take(at, end, '"');
  if (plain) {
    text = {begin, static_cast<std::size_t>(at - 1 - begin)};
    return true;
  }
  while (at != end && *at != '"' && *at != '\\') ++at;
  text = {begin, static_cast<std::size_t>(at - begin)};
  if (at != end && *at == '\\') {
    at = begin;
    if (!unescape(at, end, text)) return false;
  }
  return take(at, end, '"') && is_text(text);
}

// \\, \" and \n; a backslash before anything else stands for itself, as in Prometheus (Windows
// paths come so).
bool LineParser::unescape(const char*& at, const char* end, std::string_view& text) {
  // All unescaped text of a line is shorter than the line, so that the buffer never moves under
  // earlier views.
  unescaped_.reserve(line_bytes_);
  const std::size_t begin = unescaped_.size();
  for (; at != end && *at != '"'; ++at) {
    if (*at != '\\') {
      unescaped_.push_back(*at);
      continue;
    }
    if (++at == end) return false;
    if (*at == 'n') {
      unescaped_.push_back('\n');
    } else {
      if (*at != '\\' && *at != '"') unescaped_.push_back('\\');
      unescaped_.push_back(*at);
    }
  }
  text = std::string_view(unescaped_).substr(begin);
  return at != end;
}

}  // namespace loadline::scrape
