#include "base/log.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace loadline {
namespace {

TEST(Log, JsonQuoteEscapesAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_quote(""), R"("")");
  EXPECT_EQ(json_quote("J\xc3\xb6rg"), "\"J\xc3\xb6rg\"");
  EXPECT_EQ(json_quote("a\"b\\c\n\t\x01"), R"("a\"b\\c\n\t\u0001")");
  EXPECT_EQ(json_quote(std::string_view("a\0b", 3)), R"("a\u0000b")");
  EXPECT_EQ(json_quote("a\xff"
                       "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(json_quote("cut \xc3"), "\"cut \xef\xbf\xbd\"");
}

TEST(Log, ALineIsOneJsonObjectWithTypedPairs) {
  testing::internal::CaptureStderr();
  const std::string name = "ns/a";
  log_info("target \"added\"", kv("pod", name), kv("port", 8000), kv("ready", true), kv("age", 0.5),
           kv("none", std::numeric_limits<double>::quiet_NaN()), kv("text", "x"));
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.find(R"({"ts":")"), 0U) << line;
  const std::string rest = R"("level":"info","msg":"target \"added\"","pod":"ns/a","port":8000,)"
                           R"("ready":true,"age":0.5,"none":"nan","text":"x"})";
  EXPECT_NE(line.find(rest + "\n"), std::string::npos) << line;
}

TEST(Log, LinesBelowTheLevelAreDropped) {
  testing::internal::CaptureStderr();
  log_debug("hidden");
  set_log_level(LogLevel::kError);
  log_warning("hidden too");
  log_error("shown");
  set_log_level(LogLevel::kInfo);
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines.find("hidden"), std::string::npos) << lines;
  EXPECT_NE(lines.find(R"("msg":"shown")"), std::string::npos) << lines;
}

}  // namespace
}  // namespace loadline
