#include "apiserver/metric_name.h"

#include "tests/unit/apiserver/api_fixture.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace loadline::apiserver {
namespace {

TEST(MetricName, B07VerdictsAreThoseOfPathSegments) {
  std::istringstream names(testdata("B07-metric-names.txt"));
  std::istringstream verdicts(testdata("B07-metric-names.expected.txt"));
  std::string verdict;
  std::getline(verdicts, verdict);  // the heading
  int checked = 0;
  for (std::string name; std::getline(names, name);) {
    std::getline(verdicts, verdict);
    ASSERT_TRUE(verdict.starts_with(name + " | ")) << verdict;
    EXPECT_EQ(check_metric_name(name).has_value(), verdict.starts_with(name + " | yes")) << verdict;
    ++checked;
  }
  EXPECT_EQ(checked, 12);
}

TEST(MetricName, B07TheWildcardIsNeverAdvertised) {
  EXPECT_TRUE(check_metric_name("*").has_value());
  EXPECT_FALSE(check_advertised_metric_name("*").has_value());
  EXPECT_FALSE(check_advertised_metric_name("a/b").has_value());
  EXPECT_TRUE(check_advertised_metric_name("vllm:num_requests_running").has_value());
}

TEST(MetricName, RefusalsNameTheNameAndTheCharacter) {
  EXPECT_EQ(check_metric_name("a/b").error().message,
            "invalid metric name \"a/b\": [may not contain '/']");
  EXPECT_EQ(check_metric_name("..").error().message,
            "invalid metric name \"..\": [may not be '..']");
  EXPECT_FALSE(check_metric_name("").has_value());
}

}  // namespace
}  // namespace loadline::apiserver
