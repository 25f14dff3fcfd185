#include "apiserver/list_options.h"

#include <gtest/gtest.h>

namespace loadline::apiserver {
namespace {

Result<ListOptions> options(const std::string& query, const std::string& name = "*") {
  return parse_list_options(*parse_request(
      "GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/d/pods/" + name + "/m?" + query));
}

std::string problem(const std::string& query, const std::string& name = "*") {
  const Result<ListOptions> parsed = options(query, name);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, Code::kBadRequest);
  return parsed.error().message;
}

TEST(ListOptions, SelectorsAreParsedAndTheRestIgnored) {
  const Result<ListOptions> parsed = options(
      "labelSelector=app%3Dweb&metricLabelSelector=a+in+%28b%29&limit=500&timeoutSeconds=+5&watch="
      "xx&continue=zz&"
      "resourceVersion=0&timeout=32s");
  EXPECT_FALSE(parsed.has_value());  // " 5" is no integer
  const Result<ListOptions> good =
      options("labelSelector=app%3Dweb&metricLabelSelector=a+in+%28b%29&limit=500");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->labels.to_string(), "app=web");
  EXPECT_FALSE(good->metric_labels.empty());
  EXPECT_TRUE(options("")->labels.empty());
  EXPECT_TRUE(options("labelSelector=")->labels.empty());
}

TEST(ListOptions, NumbersMustBeNumbers) {
  EXPECT_EQ(problem("limit=abc"), "strconv.ParseInt: parsing \"abc\": invalid syntax");
  EXPECT_EQ(problem("limit="), "strconv.ParseInt: parsing \"\": invalid syntax");
  EXPECT_EQ(problem("timeoutSeconds=99999999999999999999"),
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range");
  EXPECT_EQ(problem("limit=%2B5"), "");
  EXPECT_EQ(problem("limit=-1"), "");
}

TEST(ListOptions, BadSelectorsAreRefused) {
  EXPECT_NE(problem("labelSelector=a+b"), "");
  EXPECT_NE(problem("metricLabelSelector=%3D"), "");
  EXPECT_NE(problem("labelSelector=a%3D-b"), "");
}

TEST(ListOptions, TheFieldSelectorMayOnlyRepeatTheName) {
  EXPECT_EQ(problem("fieldSelector=zz"), "invalid selector: 'zz'; can't understand 'zz'");
  EXPECT_EQ(problem("fieldSelector=metadata.name%3Da", "a"), "");
  EXPECT_EQ(problem("fieldSelector=metadata.name%3D%3Da", "a"), "");
  EXPECT_EQ(problem("fieldSelector=", "a"), "");
  const std::string mismatch = "fieldSelector metadata.name doesn't match requested name";
  EXPECT_EQ(problem("fieldSelector=metadata.name%3Da", "b"), mismatch);
  EXPECT_EQ(problem("fieldSelector=metadata.name%3Da"), mismatch);
  EXPECT_EQ(problem("fieldSelector=metadata.name%21%3Da", "a"), mismatch);
  EXPECT_EQ(problem("fieldSelector=status.phase%3DRunning", "a"), mismatch);
}

TEST(ListOptions, FieldSelectorsMayHoldEscapes) {
  EXPECT_EQ(**name_in_field_selector("x=1,metadata.name=a\\,b\\=c\\\\"), "a,b=c\\");
  EXPECT_EQ(*name_in_field_selector("x!=1"), std::nullopt);
  EXPECT_FALSE(name_in_field_selector("metadata.name=a\\").has_value());
  EXPECT_FALSE(name_in_field_selector("metadata.name=a\\x").has_value());
  EXPECT_FALSE(name_in_field_selector("\\").has_value());
}

}  // namespace
}  // namespace loadline::apiserver
