#include "net/http.h"

#include <algorithm>

namespace loadline::net {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

}  // namespace

bool header_name_equals(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* find_header(const Headers& headers, std::string_view name) {
  for (const auto& [n, value] : headers) {
    if (header_name_equals(n, name)) return &value;
  }
  return nullptr;
}

}  // namespace loadline::net
