// Saturated throughput of the presets on recorded request mixes: all requests of a trace at once,
// requests divided by the time until the last has ended. The golden values come from the prototype
// that the presets were fitted with.
#include "sim/arrivals.h"
#include "sim/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>

namespace loadline::sim {
namespace {

std::vector<TraceRow> trace(const std::string& name) {
  std::ifstream in(std::string(LOADLINE_SOURCE_DIR) + "/tests/testdata/traces/" + name + ".csv");
  std::string error;
  auto rows = parse_trace(in, &error);
  EXPECT_TRUE(rows.has_value()) << name << ": " << error;
  return rows ? *rows : std::vector<TraceRow>();
}

double saturated_throughput(const EngineSpec& spec, const std::vector<TraceRow>& rows) {
  Engine engine(spec);
  for (const TraceRow& row : rows) EXPECT_TRUE(engine.submit(row.request));
  while (engine.in_flight() > 0) engine.advance_to(engine.now_s() + 1);
  return static_cast<double>(rows.size()) / engine.now_s();
}

void expect_within_3_percent(const EngineSpec& spec, const char* name, double golden) {
  const double got = saturated_throughput(spec, trace(name));
  EXPECT_NEAR(got / golden, 1, 0.03) << spec.name << " on " << name << ": " << got << " req/s";
}

TEST(GoldenThroughput, A100Chat) {
  expect_within_3_percent(llama3_8b_a100(), "azure2023_conv", 8.07);
}
TEST(GoldenThroughput, A100Code) {
  expect_within_3_percent(llama3_8b_a100(), "azure2023_code", 6.0);
}
TEST(GoldenThroughput, H100Chat) {
  expect_within_3_percent(llama3_8b_h100(), "azure2023_conv", 19.3);
}
TEST(GoldenThroughput, H100Code) {
  expect_within_3_percent(llama3_8b_h100(), "azure2023_code", 18.0);
}

TEST(GoldenThroughput, A100LongConversationsOverSeveralOrders) {
  std::vector<TraceRow> rows = trace("mooncake_conversation");
  double sum = 0;
  const unsigned seeds = 4;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    std::shuffle(rows.begin(), rows.end(), random);
    const std::vector<TraceRow> some(rows.begin(), rows.begin() + 2000);
    sum += saturated_throughput(llama3_8b_a100(), some);
  }
  EXPECT_NEAR(sum / seeds, 0.70, 0.05);
}

}  // namespace
}  // namespace loadline::sim
