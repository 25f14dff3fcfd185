// The nearest-rank quantile: always a value that was seen, never an interpolation.
// Pure, thread-safe. O(n), works on its own copy.
#pragma once

#include <vector>

namespace loadline::estimator {

// The value of rank ceil(q*n), counted from 1 and clamped to the values there are. q is taken to
// the millionth and the rank computed in integers, so that 0.9 of 10 is 9 and not, by a rounding
// error, 10. REQUIRES: values is not empty, none is NaN; q within 0..1.
double nearest_rank(std::vector<double> values, double q);

}  // namespace loadline::estimator
