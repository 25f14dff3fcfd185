// Quantities: a plain reading of what is printed gives back the value to the nearest milli, in
// canonical form.
#include "kube/quantity.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

// Milli-units; exact, as long double holds 64 bits here and no milli-value has more.
std::int64_t read_milli(const std::string& text) {
  std::size_t at = 0;
  const bool negative = text[at] == '-';
  if (negative) ++at;
  check(at < text.size() && (text[at] != '0' || text == "0"));
  std::uint64_t digits = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    digits = digits * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  check(digits == 0 || digits % 1000 != 0);  // else the next suffix was due
  const std::string suffix = text.substr(at);
  const std::string suffixes = "kMGTP";
  std::size_t thousands = 1;
  if (suffix == "m") {
    thousands = 0;
  } else if (!suffix.empty()) {
    check(suffix.size() == 1 && suffixes.find(suffix) != std::string::npos);
    thousands = 2 + suffixes.find(suffix);
  }
  for (; thousands > 0; --thousands) {
    check(digits <= UINT64_MAX / 1000);
    digits *= 1000;
  }
  check(digits <= INT64_MAX);
  return negative ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  double value = 0;
  if (size < sizeof value) return 0;
  std::memcpy(&value, data, sizeof value);
  if (!std::isfinite(value)) return 0;

  const std::int64_t milli = read_milli(loadline::kube::format_quantity(value));
  check((milli > 0) == (value > 0) && (milli < 0) == (value < 0));
  const long double exact = static_cast<long double>(value) * 1000;
  const long double off = std::fabs(static_cast<long double>(milli) - exact);
  if (std::fabs(value) >= loadline::kube::kMostQuantity) {
    check(std::abs(milli) == 9'200'000'000'000'000'000);
  } else if (std::abs(milli) == 1) {
    check(off <= 1);
  } else {
    check(off <= 0.5001L);
  }
  const double next = std::nextafter(value, INFINITY);
  if (std::isfinite(next)) check(read_milli(loadline::kube::format_quantity(next)) >= milli);
  return 0;
}
