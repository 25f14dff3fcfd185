#include "cmd/replay.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <vector>

namespace loadline::cmd {
namespace {

using nlohmann::json;

std::vector<json> rows(const std::string& csv, const ReplayOptions& options = {}) {
  std::istringstream in(csv);
  std::ostringstream out;
  const Status status = replay(options, in, out);
  EXPECT_TRUE(status.has_value()) << (status ? "" : status.error().message);
  std::vector<json> result;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) result.push_back(json::parse(line));
  return result;
}

std::string failure(const std::string& csv, const ReplayOptions& options = {}) {
  std::istringstream in(csv);
  std::ostringstream out;
  const Status status = replay(options, in, out);
  if (status) return "(no error)";
  EXPECT_EQ(status.error().code, Code::kBadRequest);
  return status.error().message;
}

// 10 completions a tick of 5 s with 4 running: 2 requests/s.
std::string steady(int samples) {
  std::string csv = "t_s,completed_total,running\n";
  for (int i = 0; i < samples; ++i) {
    csv += std::to_string(5 * i) + ',' + std::to_string(10 * i) + ",4\n";
  }
  return csv;
}

TEST(Replay, OneObjectARow) {
  std::istringstream in(steady(7));
  std::ostringstream out;
  ASSERT_TRUE(replay(ReplayOptions(), in, out).has_value());
  EXPECT_EQ(
      out.str(),
      R"({"t_s":0,"capacity":null,"lower":null,"upper":null,"quality":"unknown","reason":"no_baseline"}
{"t_s":5,"capacity":null,"lower":null,"upper":null,"quality":"unknown","reason":"warm_up"}
{"t_s":10,"capacity":null,"lower":null,"upper":null,"quality":"unknown","reason":"warm_up"}
{"t_s":15,"capacity":null,"lower":null,"upper":null,"quality":"unknown","reason":"warm_up"}
{"t_s":20,"capacity":null,"lower":null,"upper":null,"quality":"unknown","reason":"warm_up"}
{"t_s":25,"capacity":null,"lower":null,"upper":null,"quality":"unknown","reason":"warm_up"}
{"t_s":30,"capacity":2,"lower":2,"upper":2,"quality":"measured","reason":""}
)");
}

TEST(Replay, TheFigureIsMessagesWithTheirFloor) {
  std::string slow = "t_s,completed_total,running\n";
  for (int i = 0; i < 10; ++i) slow += std::to_string(5 * i) + ',' + std::to_string(i) + ",4\n";
  EXPECT_EQ(rows(slow).back()["capacity"], 1);
  ReplayOptions options;
  options.multiplier = 30;
  EXPECT_EQ(rows(slow, options).back()["capacity"], 6);
}

TEST(Replay, EmptyCellsAreSignalsNotSeen) {
  const auto got = rows(steady(7) + "35,,4\n36,70,\n37,,\n40,80,4\n");
  for (std::size_t i = 7; i < 10; ++i) {
    EXPECT_EQ(got[i]["capacity"], 2);
    EXPECT_EQ(got[i]["quality"], "held");
    EXPECT_EQ(got[i]["reason"], "signal_missing");
  }
  EXPECT_EQ(got.back()["quality"], "measured");
  EXPECT_EQ(got.back()["capacity"], 2);
}

TEST(Replay, WithoutTheColumnsThereIsNoFigure) {
  const auto got = rows("t_s,waiting\n0,3\n5,4\n");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_TRUE(got[1]["capacity"].is_null());
  EXPECT_EQ(got[1]["reason"], "signal_missing");
}

TEST(Replay, ColumnsInAnyOrderBlanksCrLfAndEmptyLines) {
  std::string csv = "\xEF\xBB\xBFrunning , kv_usage,completed_total,\tt_s\r\n";
  for (int i = 0; i < 7; ++i) {
    csv += "4,0.5, " + std::to_string(10 * i) + " ," + std::to_string(5 * i) + "\r\n";
  }
  csv += "\r\n+4,1e-1,70,35";
  const auto got = rows(csv);
  ASSERT_EQ(got.size(), 8u);
  EXPECT_EQ(got.back()["capacity"], 2);
}

TEST(Replay, EveryOptionReachesTheEstimator) {
  ReplayOptions options;
  options.warmup_s = 0;
  options.min_ticks = 1;
  EXPECT_EQ(rows(steady(2), options).back()["capacity"], 2);
  const std::string swinging =
      "t_s,completed_total,running\n0,0,2\n10,10,2\n20,20,2\n30,30,2\n40,40,8\n";
  EXPECT_NEAR(rows(swinging, options).back()["capacity"], 40.0 / 140 * 8, 1e-12);
  options.percentile = 0.5;
  EXPECT_EQ(rows(swinging, options).back()["capacity"], 1);  // 0.57, and the floor
  options.percentile = 0.9;
  options.window_s = 5;
  EXPECT_EQ(rows(swinging, options).back()["capacity"], 1);  // 10 in 10 s
}

TEST(Replay, AggregationIsOverWhatWasMeasured) {
  ReplayOptions options;
  options.warmup_s = 0;
  options.min_ticks = 1;
  options.window_s = 10;
  const std::string csv =
      "t_s,completed_total,running\n0,0,1\n10,90,1\n20,120,1\n30,120,0\n40,140,1\n51,151,1\n";
  const auto of = [&](const char* aggregation) {
    options.aggregation = aggregation;
    std::vector<double> figures;
    for (const json& row : rows(csv, options)) {
      if (!row["capacity"].is_null()) figures.push_back(row["capacity"]);
    }
    return figures;
  };
  EXPECT_EQ(of("last"), (std::vector<double>{9, 6, 6, 2, 1}));
  EXPECT_EQ(of("lifetime_max"), (std::vector<double>{9, 9, 9, 9, 9}));
  EXPECT_EQ(of("max"), (std::vector<double>{9, 9, 9, 2, 1}));
  EXPECT_EQ(of("mean"), (std::vector<double>{9, 7.5, 7.5, 2, 1}));
  EXPECT_EQ(of("p50"), (std::vector<double>{9, 6, 6, 2, 1}));
}

TEST(Replay, ABadCsvIsNamedWithLineColumnAndCure) {
  const auto f = [](const std::string& csv, const char* want, int line) {
    const std::string got = failure(csv);
    EXPECT_NE(got.find(want), std::string::npos) << "line " << line << ": " << got;
    EXPECT_EQ(got.rfind("input: ", 0), 0u) << "line " << line << ": " << got;
  };
  f("", "the file is empty", __LINE__);
  f("\n0,1\n", "line 1", __LINE__);
  f("completed_total,running\n", "there is no column t_s", __LINE__);
  f("t_s,completed,running\n",
    R"(line 1, column 2: "completed" is no signal; did you mean "completed_total")", __LINE__);
  f("t_s,runing\n", R"(did you mean "running")", __LINE__);
  f("T_S,running\n", R"(did you mean "t_s")", __LINE__);
  f("t_s,running,running\n", R"(line 1, column 3: "running" is there twice)", __LINE__);
  f("t_s,running\n0,1\n5\n", "line 3: 1 cells under 2 columns", __LINE__);
  f("t_s,running\n0,1,2\n", "line 2: 3 cells under 2 columns", __LINE__);
  f("t_s,running\n0,many\n", R"(line 2, column running: "many" is not a number)", __LINE__);
  f("t_s,running\n0,1.5x\n", R"(line 2, column running: "1.5x" is not a number)", __LINE__);
  f("t_s,running\n0,0x10\n", "is not a number", __LINE__);
  f("t_s,running\n0,\"1\"\n", "is not a number", __LINE__);
  f("t_s,running\n\n0,NaN\n", R"(line 3, column running: "NaN" is out of range)", __LINE__);
  f("t_s,running\n0,-inf\n", R"(column running: "-inf" is out of range)", __LINE__);
  f("t_s,running\n0,1e999\n", "is out of range; leave the cell empty", __LINE__);
  f("t_s,running\nnan,1\n", "line 2, column t_s", __LINE__);
  f("t_s,running\n,1\n", "line 2, column t_s: the cell is empty", __LINE__);
}

TEST(Replay, RowsBeforeABadOneAreWritten) {
  std::istringstream in("t_s,running\n0,1\n5,x\n");
  std::ostringstream out;
  EXPECT_FALSE(replay(ReplayOptions(), in, out).has_value());
  EXPECT_EQ(json::parse(out.str())["t_s"], 0);
}

TEST(Replay, AnEndlessLineIsRefused) {
  std::istringstream in("t_s," + std::string(100'000, 'x'));
  std::ostringstream out;
  const Status status = replay(ReplayOptions(), in, out);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Code::kTooLarge);
}

TEST(Replay, UnknownEstimatorsAndAggregationsNameTheKnown) {
  ReplayOptions options;
  options.estimator = "clasic";
  EXPECT_NE(failure(steady(3), options).find("known: classic"), std::string::npos);
  options = {};
  options.aggregation = "median";
  EXPECT_NE(failure(steady(3), options).find("lifetime_max"), std::string::npos);
}

TEST(Replay, NumbersThatMakeNoSenseAreRefused) {
  for (double ReplayOptions::*option : {&ReplayOptions::window_s, &ReplayOptions::warmup_s,
                                        &ReplayOptions::multiplier, &ReplayOptions::percentile}) {
    ReplayOptions options;
    options.*option = -0.5;
    EXPECT_NE(failure(steady(3), options).find("-0.5"), std::string::npos);
    options.*option = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(failure(steady(3), options), "(no error)");
  }
  ReplayOptions options;
  options.percentile = 90;
  EXPECT_NE(failure(steady(3), options).find("within 0 and 1"), std::string::npos);
}

}  // namespace
}  // namespace loadline::cmd
