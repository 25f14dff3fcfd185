#include "base/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace loadline {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein's distance, one row at a time; case makes no difference.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min(
          {row[j] + 1, row[j - 1] + 1, corner + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1)});
      corner = up;
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::min<std::size_t>(3, typed.size() / 2) + 1;
  for (const std::string& name : known) {
    const bool begun = typed.size() >= 4 && name.starts_with(typed);
    const std::size_t distance = begun ? 1 : edit_distance(typed.substr(0, 256), name);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace loadline
