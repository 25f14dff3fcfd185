#include "kube/base64.h"

#include <cstddef>
#include <cstdint>

namespace loadline::kube {

std::optional<std::string> decode_base64(std::string_view text) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    const std::size_t value = kAlphabet.find(c);
    if (c == '=' && digits >= 2) {
      ++padding;
    } else if (value == std::string_view::npos || padding > 0) {
      return std::nullopt;
    }
    group = group << 6 | (c == '=' ? 0 : static_cast<std::uint32_t>(value));
    if (++digits < 4) continue;
    for (int i = 0; i < 3 - padding; ++i) {
      bytes.push_back(static_cast<char>(group >> (16 - 8 * i) & 0xff));
    }
    digits = 0;
    group = 0;
  }
  if (digits != 0) return std::nullopt;
  return bytes;
}

}  // namespace loadline::kube
