#include "apiserver/json_text.h"

#include <array>

namespace loadline::apiserver {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// Bytes that stand for themselves in a string.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = true;
  for (const char c : {'"', '\\', '<', '>', '&'}) plain[static_cast<unsigned char>(c)] = false;
  return plain;
}();

void append_escaped_ascii(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHexDigits[c >> 4];
      out += kHexDigits[c & 15];
  }
}

void new_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  // Overlong forms, surrogates and what lies beyond U+10FFFF.
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_sequence_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t done = 0;  // what stands before it is written
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (kPlain[c]) {
      ++i;
      continue;
    }
    const std::size_t length = utf8_sequence_length(text, i);
    const std::string_view sequence = text.substr(i, length);
    const bool separator = sequence == "\u2028" || sequence == "\u2029";
    if (length > 1 && !separator) {
      i += length;
      continue;
    }
    out.append(text.substr(done, i - done));
    if (length == 0) {
      out += "\\ufffd";
    } else if (separator) {
      out += sequence == "\u2028" ? "\\u2028" : "\\u2029";
    } else {
      append_escaped_ascii(out, c);
    }
    i += length == 0 ? 1 : length;
    done = i;
  }
  out.append(text.substr(done));
  out += '"';
}

std::string indent_json(std::string_view compact) {
  std::string out;
  out.reserve(compact.size() * 2);
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < compact.size()) {
        out += compact[++i];
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    const char next = i + 1 < compact.size() ? compact[i + 1] : '\0';
    switch (c) {
      case '"':
        in_string = true;
        out += c;
        break;
      case '{':
      case '[':
        out += c;
        if (next == '}' || next == ']') {
          out += next;
          ++i;
        } else {
          new_line(out, ++depth);
        }
        break;
      case '}':
      case ']':
        if (depth > 0) --depth;
        new_line(out, depth);
        out += c;
        break;
      case ',':
        out += c;
        new_line(out, depth);
        break;
      case ':':
        out += ": ";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace loadline::apiserver
