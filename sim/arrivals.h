// When requests come and how large they are: Poisson arrivals at a rate that may change, sizes
// drawn from a distribution, or both as recorded in a trace. Deterministic by seed. Not
// thread-safe.
#pragma once

#include "sim/engine.h"

#include <cstdint>
#include <istream>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace loadline::sim {

class PoissonArrivals {
 public:
  explicit PoissonArrivals(std::uint64_t seed);

  // The first arrival within (from_s, to_s] at a steady rate a second, or none. Called over
  // adjoining spans it is exact for a rate that is steady within each. A rate that is not above 0
  // brings none.
  std::optional<double> next(double from_s, double to_s, double rate_per_s);

 private:
  double draw();

  std::mt19937_64 random_;
  double left_;  // expected arrivals until the next one comes
};

// Log-normal sizes, as requests have: many small, few large.
struct RequestSizes {
  double mean_input_tokens = 1155, mean_output_tokens = 211;  // of Azure's conversations
  double sigma = 0.8;                                         // of the logarithm; 0: all alike
  int most_tokens = 8192;                                     // of input and of output each
};

// Small requests, which end within a second or so on demo_engine().
RequestSizes small_requests();

class RequestMix {
 public:
  RequestMix(RequestSizes sizes, std::uint64_t seed) : sizes_(sizes), random_(seed) {}
  Request next();

 private:
  int draw(double mean);

  RequestSizes sizes_;
  std::mt19937_64 random_;
};

struct TraceRow {
  double t_s = 0;
  Request request;
};

// A CSV whose header row names t_s, in_tok, out_tok and perhaps prefix_tok, in any order. Nothing,
// and *error naming the line, for anything else. At most a million rows.
std::optional<std::vector<TraceRow>> parse_trace(std::istream& in, std::string* error);

}  // namespace loadline::sim
