// Printing of numbers as Kubernetes quantities (resource.Quantity, decimal form) in milli-units.
// Source: apimachinery pkg/api/resource.
#pragma once

#include <string>

namespace loadline::kube {

// The largest milli-value whose thousand-fold still fits: what is beyond is clamped (and counted by
// the caller).
inline constexpr double kMostQuantity = 9.2e15;

// "0", "1500m", "2k": the canonical form of the value rounded to milli. Clamped to ±9.2e15; a
// positive value is never printed as 0 (the least is "1m"). REQUIRES: finite.
std::string format_quantity(double value);

}  // namespace loadline::kube
