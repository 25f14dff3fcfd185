#include "scrape/exposition_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace loadline::scrape {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// "name|label=value|…|value[@ms]", or "refused".
std::string parsed(std::string_view line, PageFormat format = PageFormat::kText) {
  LineParser parser(format);
  ParsedLine into;
  if (!parser.parse(line, name_length(line), into)) return "refused";
  std::string out(into.name);
  for (std::uint32_t i = 0; i < into.label_count; ++i) {
    out += "|" + std::string(into.labels[i].name) + "=" + std::string(into.labels[i].value);
  }
  char number[40];
  std::snprintf(number, sizeof number, "|%.17g", into.value);
  out += number;
  if (into.timestamp_ms) out += "@" + std::to_string(*into.timestamp_ms);
  return out;
}

double value_of(std::string_view token) {
  LineParser parser(PageFormat::kText);
  ParsedLine into;
  const std::string line = "x " + std::string(token);
  EXPECT_TRUE(parser.parse(line, 1, into)) << token;
  return into.value;
}

TEST(ExpositionLine, LabelsAndSpacing) {
  const auto f = [](std::string_view input, std::string_view want, int at) {
    EXPECT_EQ(parsed(input), want) << "line " << at << ": " << input;
  };
  f("x 1", "x|1", __LINE__);
  f("x\t1", "x|1", __LINE__);
  f("x{} 1", "x|1", __LINE__);
  f("x{}1", "x|1", __LINE__);
  f("x {} 1", "x|1", __LINE__);
  f("x{a=\"b\"} 1", "x|a=b|1", __LINE__);
  f("x{a=\"b\",} 1", "x|a=b|1", __LINE__);
  f("x{ a\t= \"b\" , c=\"\" } \t1 \t", "x|a=b|c=|1", __LINE__);
  f("x{c=\"1\",a=\"2\",b=\"3\"} 1", "x|a=2|b=3|c=1|1", __LINE__);
  f(R"(x{a="{}#,= b"} 1)", "x|a={}#,= b|1", __LINE__);
  f(R"(x{a="\\\"\n"} 1)", "x|a=\\\"\n|1", __LINE__);
  f(R"(x{a="C:\models\q\\"} 1)", "x|a=C:\\models\\q\\|1", __LINE__);
  f("x{a=\"\xc3\xa9\xf0\x9f\x98\x80\"} 1", "x|a=\xc3\xa9\xf0\x9f\x98\x80|1", __LINE__);
  f(":a_9:b{_z9=\"\"} 1", ":a_9:b|_z9=|1", __LINE__);

  f("x", "refused", __LINE__);
  f("x ", "refused", __LINE__);
  f("x{} ", "refused", __LINE__);
  f("x-y 1", "refused", __LINE__);
  f("x\"\" 1", "refused", __LINE__);
  f("x{,} 1", "refused", __LINE__);
  f("x{a=\"b\",,} 1", "refused", __LINE__);
  f("x{a=\"b\" c=\"d\"} 1", "refused", __LINE__);
  f("x{a=\"b\"", "refused", __LINE__);
  f("x{a=\"b", "refused", __LINE__);
  f("x{a=\"b\\", "refused", __LINE__);
  f("x{a=b} 1", "refused", __LINE__);
  f("x{a='b'} 1", "refused", __LINE__);
  f("x{a} 1", "refused", __LINE__);
  f("x{a=} 1", "refused", __LINE__);
  f("x{=\"b\"} 1", "refused", __LINE__);
  f("x{9=\"b\"} 1", "refused", __LINE__);
  f("x{a:b=\"b\"} 1", "refused", __LINE__);
  f("x{a=\"b\"}} 1", "refused", __LINE__);
  f("x{a=\"1\",a=\"1\"} 1", "refused", __LINE__);
  f("x{a=\"1\",b=\"\",a=\"2\"} 1", "refused", __LINE__);
  f("x{a=\"\xff\"} 1", "refused", __LINE__);
  f("x{a=\"\xc0\x80\"} 1", "refused", __LINE__);
  f("x{a=\"\xed\xa0\x80\"} 1", "refused", __LINE__);
  f("x{a=\"\xf4\x90\x80\x80\"} 1", "refused", __LINE__);
  f("x{a=\"\xe2\x82\"} 1", "refused", __LINE__);
  f(std::string_view("x{a=\"\0\"} 1", 10), "refused", __LINE__);
}

TEST(ExpositionLine, QuotedNames) {
  const auto f = [](std::string_view input, std::string_view want, int at) {
    EXPECT_EQ(parsed(input), want) << "line " << at << ": " << input;
  };
  f(R"({"http.requests"} 1)", "http.requests|1", __LINE__);
  f(R"({"http.requests","k8s.pod"="x",} 1)", "http.requests|k8s.pod=x|1", __LINE__);
  f(R"({ "a\"b" , c="d" } 1)", "a\"b|c=d|1", __LINE__);
  f(R"({c="d","n"} 1)", "n|c=d|1", __LINE__);
  f(R"(x{"k8s.pod"="y"} 1)", "x|k8s.pod=y|1", __LINE__);
  f(R"({c="d"} 1)", "refused", __LINE__);
  f(R"({""} 1)", "refused", __LINE__);
  f(R"({"a","b"} 1)", "refused", __LINE__);
  f(R"(x{"a"} 1)", "refused", __LINE__);
  f(R"(x{""="a"} 1)", "refused", __LINE__);
  f(R"({"a": 1})", "refused", __LINE__);
  f("{}", "refused", __LINE__);
}

TEST(ExpositionLine, Values) {
  EXPECT_EQ(value_of("0.25"), 0.25);
  EXPECT_EQ(value_of("+5"), 5);
  EXPECT_EQ(value_of("-5"), -5);
  EXPECT_EQ(value_of("5."), 5);
  EXPECT_EQ(value_of(".5"), 0.5);
  EXPECT_EQ(value_of("1.5e+03"), 1500);
  EXPECT_EQ(value_of("1E-2"), 0.01);
  EXPECT_EQ(value_of("1e+011"), 1e11);
  EXPECT_EQ(value_of("9223372036854775794"), 9223372036854775794.0);
  EXPECT_EQ(value_of("4.9406564584124654e-324"), 4.9406564584124654e-324);
  for (const char* inf : {"Inf", "+Inf", "inf", "INF", "infinity", "+Infinity"})
    EXPECT_EQ(value_of(inf), kInf) << inf;
  EXPECT_EQ(value_of("-Inf"), -kInf);
  for (const char* nan : {"NaN", "nan", "NAN", "+NaN", "-nan"})
    EXPECT_TRUE(std::isnan(value_of(nan))) << nan;

  for (const char* bad : {"0x10",   "0x1p4",  "1_000", "1,5",  "1e",    "e5",     ".",     "+",
                          "-",      "+-5",    "++5",   "--5",  "infin", "nan(1)", "nan()", "1e400",
                          "-1e400", "1e-400", "1.0.0", "five", "1f",    "\"1\"",  "1;"}) {
    EXPECT_EQ(parsed("x " + std::string(bad)), "refused") << bad;
  }
}

TEST(ExpositionLine, TimestampsAreKeptInMilliseconds) {
  const auto f = [](std::string_view input, PageFormat format, std::string_view want, int at) {
    EXPECT_EQ(parsed(input, format), want) << "line " << at << ": " << input;
  };
  const auto text = PageFormat::kText;
  const auto open = PageFormat::kOpenMetrics;
  f("x 1 1767323045000", text, "x|1@1767323045000", __LINE__);
  f("x 1 -5\t", text, "x|1@-5", __LINE__);
  f("x 1 1700000000.5", text, "x|1@1700000000500", __LINE__);
  f("x 1 1700000000", open, "x|1@1700000000000", __LINE__);
  f("x 1 1700000000.123", open, "x|1@1700000000123", __LINE__);
  f("x 1 1.7e9", open, "x|1@1700000000000", __LINE__);
  for (const char* bad : {"x 1 2 3", "x 1 1e3", "x 1 +3", "x 1 a", "x 1 -",
                          "x 1 9223372036854775808", "x 1 1e400.", "x 1 .", "x 1 5.5.5"}) {
    f(bad, text, "refused", __LINE__);
  }
  for (const char* bad : {"x 1 NaN", "x 1 Inf", "x 1 1e13", "x 1 x"})
    f(bad, open, "refused", __LINE__);
}

TEST(ExpositionLine, ExemplarsAreCheckedAndDropped) {
  const auto f = [](std::string_view input, std::string_view want, int at) {
    EXPECT_EQ(parsed(input), want) << "line " << at << ": " << input;
  };
  f(R"(x 1 # {} 0.43)", "x|1", __LINE__);
  f(R"(x{a="b"} 1 # {trace_id="4b"} 1.0 1700000000.123)", "x|a=b|1", __LINE__);
  f(R"(x 1 17 # {trace_id="4b",} 1.0 1700000000)", "x|1@17", __LINE__);
  f("x 1 #\t{}\t1 ", "x|1", __LINE__);
  for (const char* bad :
       {"x 1 #", "x 1 # remark", "x 1 # {}", "x 1 # {a=\"b\" 1", "x 1 # {} x", "x 1 # {} 1 y",
        "x 1 # {} 1 2 3", "x # {} 1", "x 1# {} 1", "x 1 # {\"n\"} 1"}) {
    f(bad, "refused", __LINE__);
  }
}

TEST(ExpositionLine, ManyLabelsAreReadUpToABoundAndRefusedAbove) {
  const auto line = [](std::size_t labels) {
    std::string text = "x{";
    for (std::size_t i = 0; i < labels; ++i) text += "l" + std::to_string(i) + "=\"\\\\\",";
    return text + "} 1";
  };
  EXPECT_NE(parsed(line(kMostLabels)), "refused");
  EXPECT_EQ(parsed(line(kMostLabels + 1)), "refused");
}

TEST(ExpositionLine, UnescapedValuesOfOneLineDoNotDisturbEachOther) {
  const std::string many(300, 'q');
  const std::string line = R"(x{a="\n","b\"c"="\\)" + many + R"(",d="\")" + many + "\"} 1";
  EXPECT_EQ(parsed(line), "x|a=\n|b\"c=\\" + many + "|d=\"" + many + "|1");
}

}  // namespace
}  // namespace loadline::scrape
