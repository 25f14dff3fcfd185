#include "sim/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace loadline::sim {
namespace {

std::vector<double> times(PoissonArrivals arrivals, double to_s, double slice_s, double rate) {
  std::vector<double> result;
  for (double from_s = 0; from_s < to_s; from_s += slice_s) {
    double at_s = from_s;
    while (const auto next = arrivals.next(at_s, from_s + slice_s, rate)) {
      at_s = *next;
      result.push_back(at_s);
    }
  }
  return result;
}

TEST(PoissonArrivals, CountAndGapsAreThoseOfTheRate) {
  const std::vector<double> at = times(PoissonArrivals(7), 10'000, 0.5, 3);
  const double count = static_cast<double>(at.size());
  EXPECT_NEAR(count, 30'000, 4 * std::sqrt(30'000.0));
  double sum_of_squares = 0;
  for (std::size_t i = 1; i < at.size(); ++i) {
    EXPECT_GE(at[i], at[i - 1]);
    sum_of_squares += (at[i] - at[i - 1]) * (at[i] - at[i - 1]);
  }
  EXPECT_NEAR(sum_of_squares / count, 2.0 / 9, 0.01);  // of an exponential with mean 1/3
}

TEST(PoissonArrivals, SlicingTimeOtherwiseGivesTheSameArrivals) {
  const auto fine = times(PoissonArrivals(3), 64, 0.125, 2),
             coarse = times(PoissonArrivals(3), 64, 16, 2);
  ASSERT_EQ(fine.size(), coarse.size());
  for (std::size_t i = 0; i < fine.size(); ++i) EXPECT_NEAR(fine[i], coarse[i], 1e-9);
}

TEST(PoissonArrivals, NoRateNoArrivals) {
  PoissonArrivals arrivals(1);
  for (const double rate : {0.0, -5.0, std::nan("")}) {
    EXPECT_FALSE(arrivals.next(0, 1e9, rate).has_value());
  }
  EXPECT_FALSE(arrivals.next(5, 5, 100).has_value());
}

TEST(RequestMix, MeansAreAsAskedAndSizesWithinTheirBounds) {
  RequestSizes sizes;
  RequestMix mix(sizes, 5);
  double input = 0, output = 0;
  const int n = 20'000;
  for (int i = 0; i < n; ++i) {
    const Request request = mix.next();
    ASSERT_GE(request.input_tokens, 1);
    ASSERT_LE(request.input_tokens, sizes.most_tokens);
    ASSERT_GE(request.output_tokens, 1);
    input += request.input_tokens;
    output += request.output_tokens;
  }
  EXPECT_NEAR(input / n, 1155, 40);  // the bound costs a little
  EXPECT_NEAR(output / n, 211, 6);
}

TEST(RequestMix, WithoutSpreadAllAreAlike) {
  RequestSizes sizes;
  sizes.sigma = 0;
  RequestMix mix(sizes, 5);
  for (int i = 0; i < 10; ++i) {
    const Request request = mix.next();
    EXPECT_EQ(request.input_tokens, 1155);
    EXPECT_EQ(request.output_tokens, 211);
  }
}

TEST(Trace, ColumnsInAnyOrderWithOrWithoutPrefix) {
  std::string error;
  std::istringstream in("out_tok,t_s,prefix_tok,in_tok\r\n44,0.5,128,374\r\n1,2,0,9\n");
  const auto rows = parse_trace(in, &error);
  ASSERT_TRUE(rows.has_value()) << error;
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->front().t_s, 0.5);
  EXPECT_EQ(rows->front().request.input_tokens, 374);
  EXPECT_EQ(rows->front().request.output_tokens, 44);
  EXPECT_EQ(rows->front().request.prefix_tokens, 128);
  std::istringstream plain("t_s,in_tok,out_tok\n1,2,3\n");
  EXPECT_EQ(parse_trace(plain, &error).value().front().request.prefix_tokens, 0);
}

TEST(Trace, WhatIsWrongIsNamedWithItsLine) {
  const auto f = [](const char* text, const char* want, int line) {
    std::string error;
    std::istringstream in(text);
    EXPECT_FALSE(parse_trace(in, &error).has_value()) << "line " << line;
    EXPECT_EQ(error.substr(0, std::string_view(want).size()), want) << "line " << line;
  };
  f("", "line 1: the trace is empty", __LINE__);
  f("t_s,in_tok\n", "line 1: the header", __LINE__);
  f("t_s,in_tok,out_tok,model\n", "line 1: the header", __LINE__);
  f("t_s,in_tok,out_tok\n1,2,3\n1,2\n", "line 3: not a row", __LINE__);
  f("t_s,in_tok,out_tok\n1,2.5,3\n", "line 2: not a row", __LINE__);
  f("t_s,in_tok,out_tok\nnan,2,3\n", "line 2: not a row", __LINE__);
  f("t_s,in_tok,out_tok\n1,99999999999,3\n", "line 2: not a row", __LINE__);
}

}  // namespace
}  // namespace loadline::sim
