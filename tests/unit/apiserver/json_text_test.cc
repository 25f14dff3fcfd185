#include "apiserver/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::apiserver {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonText, StringsAreEscapedAsGoDoes) {
  EXPECT_EQ(quoted("plain"), "\"plain\"");
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("<&>"), R"("\u003c\u0026\u003e")");
  EXPECT_EQ(quoted("\n\r\t\x01"), R"("\n\r\t\u0001")");
  EXPECT_EQ(quoted("\xC3\xA9\xE2\x80\xA8\xE2\x80\xA9"), "\"\xC3\xA9\\u2028\\u2029\"");
  EXPECT_EQ(quoted("\xF0\x9F\x98\x80!"), "\"\xF0\x9F\x98\x80!\"");
}

TEST(JsonText, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(quoted("a\xFFz"), R"("a\ufffdz")");
  EXPECT_EQ(quoted("\xC3"), R"("\ufffd")");
  EXPECT_EQ(quoted("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")");
}

TEST(JsonText, OnlyShortestFormsAreUtf8) {
  EXPECT_TRUE(is_utf8("\xC3\xA9\xE2\x82\xAC\xF4\x8F\xBF\xBF"));
  for (const std::string_view bad :
       {"\xC0\xAF", "\xE0\x80\x80", "\xF0\x80\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF8\x88\x80\x80\x80", "\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(JsonText, IndentedJsonIsTheSameJsonWithTwoBlanksALevel) {
  const std::string compact = R"({"a":[1,{"b":"x,{}:\"y"}],"c":{},"d":[],"e":null})";
  const std::string pretty = indent_json(compact);
  EXPECT_EQ(pretty, nlohmann::ordered_json::parse(compact).dump(2));
}

}  // namespace
}  // namespace loadline::apiserver
