#include "kube/quantity.h"

#include "base/file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>

namespace loadline::kube {
namespace {

// Milli-units of our own output.
std::int64_t milli_of(const std::string& text) {
  std::size_t end = 0;
  std::int64_t value = std::stoll(text, &end);
  const std::string suffix = text.substr(end);
  if (suffix == "m") return value;
  int thousands = 1;
  if (!suffix.empty()) thousands += 1 + static_cast<int>(std::string("kMGTP").find(suffix));
  for (; thousands > 0; --thousands) value *= 1000;
  return value;
}

TEST(Quantity, PrintsTheWorkedExamples) {
  const auto f = [](double value, const std::string& want, int line) {
    EXPECT_EQ(format_quantity(value), want) << "line " << line;
  };
  f(0, "0", __LINE__);
  f(-0.0, "0", __LINE__);
  f(0.001, "1m", __LINE__);
  f(0.999, "999m", __LINE__);
  f(1, "1", __LINE__);
  f(1.5, "1500m", __LINE__);
  f(10, "10", __LINE__);
  f(100, "100", __LINE__);
  f(1000, "1k", __LINE__);
  f(1500, "1500", __LINE__);
  f(10'000, "10k", __LINE__);
  f(100'000, "100k", __LINE__);
  f(1'500'000, "1500k", __LINE__);
  f(1234.567, "1234567m", __LINE__);
  f(1e6, "1M", __LINE__);
  f(1e9, "1G", __LINE__);
  f(1e12, "1T", __LINE__);
  f(1e15, "1P", __LINE__);
  f(-0.001, "-1m", __LINE__);
  f(-1, "-1", __LINE__);
  f(-1.5, "-1500m", __LINE__);
  f(-1500, "-1500", __LINE__);
  f(0.4, "400m", __LINE__);
  f(33.333333333, "33333m", __LINE__);
  f(2.0001, "2", __LINE__);
  f(0.9999999, "1", __LINE__);
}

TEST(Quantity, NeverTurnsSomethingIntoNothing) {
  EXPECT_EQ(format_quantity(1e-9), "1m");
  EXPECT_EQ(format_quantity(0.0004), "1m");
  EXPECT_EQ(format_quantity(std::numeric_limits<double>::denorm_min()), "1m");
  EXPECT_EQ(format_quantity(-1e-9), "-1m");
}

TEST(Quantity, IsExactToTheMilliWhereADoubleIs) {
  EXPECT_EQ(format_quantity(4503599627370495.5), "4503599627370495500m");
  EXPECT_EQ(format_quantity(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(format_quantity(9199999999999998.0), "9199999999999998");
  EXPECT_EQ(format_quantity(1125899906842623.125), "1125899906842623125m");
}

TEST(Quantity, ClampsAtWhatTheControllerCanMultiplyByAThousand) {
  for (const double value : {9.2e15, 9.3e15, 1e18, 1e300, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(format_quantity(value), "9200T") << value;
    EXPECT_EQ(format_quantity(-value), "-9200T") << value;
  }
}

// Our clamp lies below the field case's (9223372036854775807m): what is below 9.2e15 is exact,
// nothing wraps.
TEST(Quantity, B11OverflowNeverWraps) {
  const auto text = read_file(LOADLINE_SOURCE_DIR "/tests/testdata/kube/B11-overflow.txt");
  ASSERT_TRUE(text);
  std::istringstream lines(*text);
  std::string line;
  std::int64_t last = 0;
  int rows = 0;
  while (std::getline(lines, line)) {
    if (line.empty() || line.front() == '#') continue;
    const double value = std::stod(line);
    const std::int64_t milli = milli_of(format_quantity(value));
    if (value <= kMostQuantity) {
      EXPECT_EQ(milli, static_cast<std::int64_t>(value) * 1000) << line;
    } else {
      EXPECT_EQ(milli, 9'200'000'000'000'000'000) << line;
    }
    EXPECT_GE(milli, last) << line;
    last = milli;
    ++rows;
  }
  EXPECT_EQ(rows, 9);
}

TEST(Quantity, IsTheNearestMilliAndMonotonic) {
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> exponent(-6, 15.9);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    const std::int64_t milli = milli_of(format_quantity(value));
    const long double exact = static_cast<long double>(value) * 1000;
    ASSERT_LE(std::fabs(static_cast<long double>(milli) - std::max(exact, 1.0L)), 0.5001L) << value;
    ASSERT_LE(milli, milli_of(format_quantity(std::nextafter(value, 1e16)))) << value;
    ASSERT_EQ("-" + format_quantity(value), format_quantity(-value));
  }
}

}  // namespace
}  // namespace loadline::kube
