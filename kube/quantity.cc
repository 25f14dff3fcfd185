#include "kube/quantity.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace loadline::kube {
namespace {

// Whole and fractional part apart: value * 1000 as one double would lose the milli from 9.0e12 on.
std::int64_t round_to_milli(double value) {
  double whole = 0;
  const double fraction = std::modf(value, &whole);
  const std::int64_t milli =
      static_cast<std::int64_t>(whole) * 1000 + std::llround(fraction * 1000.0);
  if (milli == 0 && value != 0) return value > 0 ? 1 : -1;
  return milli;
}

}  // namespace

std::string format_quantity(double value) {
  assert(std::isfinite(value));
  const std::int64_t milli = round_to_milli(std::clamp(value, -kMostQuantity, kMostQuantity));
  if (milli == 0) return "0";

  // The mantissa without its factors of ten, then as few of them back as make the exponent a
  // multiple of three.
  auto mantissa = static_cast<std::uint64_t>(std::abs(milli));
  int exponent = -3;
  for (; mantissa % 10 == 0; ++exponent) mantissa /= 10;
  for (; exponent % 3 != 0; --exponent) mantissa *= 10;

  // 9.2e18 milli have at most 18 factors of ten: the exponent ends at 15.
  static constexpr std::array<const char*, 7> kSuffixes{"m", "", "k", "M", "G", "T", "P"};
  return (milli < 0 ? "-" : "") + std::to_string(mantissa) +
         kSuffixes.at(static_cast<std::size_t>(exponent / 3 + 1));
}

}  // namespace loadline::kube
