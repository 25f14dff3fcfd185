#include "kube/label_selector.h"

#include "base/file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace loadline::kube {
namespace {

// Inputs with what the reference library (apimachinery 0.36, labels.Parse) prints or says about
// them.
TEST(LabelSelector, AgreesWithTheReferenceOnTextAndMessages) {
  const auto text = read_file(LOADLINE_SOURCE_DIR "/tests/testdata/kube/label_selectors.json");
  ASSERT_TRUE(text);
  const auto cases = nlohmann::json::parse(*text);
  ASSERT_GT(cases.size(), 100U);
  for (const auto& row : cases) {
    const auto input = row.at("in").get<std::string>();
    SCOPED_TRACE(input);
    const auto selector = LabelSelector::parse(input);
    if (row.contains("out")) {
      ASSERT_TRUE(selector) << selector.error().message;
      EXPECT_EQ(selector->to_string(), row.at("out").get<std::string>());
    } else {
      ASSERT_FALSE(selector);
      EXPECT_EQ(selector.error().message, row.at("error").get<std::string>());
      EXPECT_EQ(selector.error().code, Code::kBadRequest);
    }
  }
}

TEST(LabelSelector, MatchesAsKubernetesDoes) {
  const Labels labels{{"app", "web"},
                      {"n", "7"},
                      {"minus", "-3"},
                      {"plus", "+5"},
                      {"empty", ""},
                      {"in", "in"},
                      {"big", "9223372036854775808"}};
  const auto f = [&](const std::string& text, bool want, int line) {
    SCOPED_TRACE(testing::Message() << "line " << line << ": " << text);
    const auto selector = LabelSelector::parse(text);
    ASSERT_TRUE(selector) << selector.error().message;
    EXPECT_EQ(selector->matches(labels), want);
  };
  f("", true, __LINE__);
  f("app=web", true, __LINE__);
  f("app==web", true, __LINE__);
  f("app=Web", false, __LINE__);
  f("gone=web", false, __LINE__);
  f("gone=", false, __LINE__);
  f("empty=", true, __LINE__);
  f("empty in ()", true, __LINE__);
  f("app in (api,web)", true, __LINE__);
  f("app in (api,db)", false, __LINE__);
  f("gone in (web)", false, __LINE__);
  f("app notin (api,db)", true, __LINE__);
  f("app notin (web)", false, __LINE__);
  // What is not there is not among the values.
  f("gone notin (web)", true, __LINE__);
  f("gone!=web", true, __LINE__);
  f("app!=web", false, __LINE__);
  f("app", true, __LINE__);
  f("gone", false, __LINE__);
  f("!gone", true, __LINE__);
  f("!app", false, __LINE__);
  f("in in (in)", true, __LINE__);
  f("n>6", true, __LINE__);
  f("n>7", false, __LINE__);
  f("n<8", true, __LINE__);
  f("n<7", false, __LINE__);
  f("n>06", true, __LINE__);
  f("minus<0", true, __LINE__);
  f("plus>4", true, __LINE__);
  f("gone<8", false, __LINE__);
  f("app>1", false, __LINE__);
  f("empty<1", false, __LINE__);
  f("big>1", false, __LINE__);
  f("app=web,n>5,!gone", true, __LINE__);
  f("app=web,n>5,gone", false, __LINE__);
}

TEST(LabelSelector, ListsItsRequirementsSortedByKeyWithEachValueOnce) {
  const auto selector = LabelSelector::parse("b in (y,x,y),a!=1");
  ASSERT_TRUE(selector);
  ASSERT_EQ(selector->requirements().size(), 2U);
  EXPECT_EQ(selector->requirements()[0].key, "a");
  EXPECT_EQ(selector->requirements()[0].op, SelectorOperator::kNotEquals);
  EXPECT_EQ(selector->requirements()[1].values, (std::vector<std::string>{"x", "y"}));
  EXPECT_FALSE(selector->empty());
  EXPECT_TRUE(LabelSelector().empty());
}

TEST(LabelSelector, RefusesTextOver16KiB) {
  std::string text = "a in (";
  while (text.size() < (16u << 10) - 1) text += "x,";
  text.back() = ')';
  EXPECT_TRUE(LabelSelector::parse(text)) << text.size();
  const auto longer = LabelSelector::parse(text + std::string(16, ' '));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::kBadRequest);
  EXPECT_NE(longer.error().message.find("16384"), std::string::npos);
}

TEST(LabelSelector, ANulByteIsNoEndOfText) {
  EXPECT_FALSE(LabelSelector::parse(std::string_view("a\0=b", 4)));
  EXPECT_FALSE(LabelSelector::parse(std::string_view("a=b\0,c", 6)));
}

}  // namespace
}  // namespace loadline::kube
