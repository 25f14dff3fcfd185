#include "apiserver/metric_value_list.h"

#include "tests/unit/apiserver/api_fixture.h"

#include <gtest/gtest.h>

namespace loadline::apiserver {
namespace {

constexpr std::int64_t kTime = 1'767'319'445;  // 2026-01-02T02:04:05Z

kube::LabelSelector selector(std::string_view text) { return *kube::LabelSelector::parse(text); }

TEST(MetricValueList, V1Beta2IsWhatARealControlPlaneTook) {
  const std::vector<provider::PodMetricItem> items = {item("p-0", 1.5, kTime, 60),
                                                      item("p-1", 2.5, kTime, 60)};
  EXPECT_EQ(
      pod_metric_list_json(CustomVersion::kV1Beta2, "default", "http_requests", "null", items),
      testdata("json-custom-v1beta2.json"));
}

TEST(MetricValueList, V1Beta1HasItsOwnFieldNamesAndOrder) {
  const std::vector<provider::PodMetricItem> items = {item("p-0", 1.5, kTime, 60)};
  EXPECT_EQ(
      pod_metric_list_json(CustomVersion::kV1Beta1, "default", "http_requests",
                           *label_selector_json(selector("b=2")), items),
      R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta1","metadata":{},"items":[)"
      R"({"describedObject":{"kind":"Pod","namespace":"default","name":"p-0","apiVersion":"v1"},)"
      R"("metricName":"http_requests","timestamp":"2026-01-02T02:04:05Z","window":60,"value":"1500m",)"
      R"("selector":{"matchLabels":{"b":"2"}}}]})"
      "\n");
}

TEST(MetricValueList, AnUnknownWindowIsLeftOut) {
  const std::vector<provider::PodMetricItem> items = {item("a", 0, kTime)};
  for (const CustomVersion version : {CustomVersion::kV1Beta1, CustomVersion::kV1Beta2}) {
    const std::string body = pod_metric_list_json(version, "d", "m", "null", items);
    EXPECT_EQ(body.find("window"), std::string::npos) << body;
    EXPECT_NE(body.find(R"("value":"0")"), std::string::npos) << body;
  }
}

TEST(MetricValueList, EachItemHasItsOwnTimestampCutToSeconds) {
  std::vector<provider::PodMetricItem> items = {item("a", 1, kTime), item("b", 1, kTime + 1),
                                                item("c", 1, kTime)};
  items[0].value.timestamp += std::chrono::milliseconds(999);
  const std::string body = pod_metric_list_json(CustomVersion::kV1Beta2, "d", "m", "null", items);
  const std::size_t first = body.find("02:04:05Z");
  const std::size_t second = body.find("02:04:06Z");
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(first, second);
  EXPECT_NE(body.find("02:04:05Z", second), std::string::npos);
}

TEST(MetricValueList, NamesAreEscaped) {
  const std::string body =
      pod_metric_list_json(CustomVersion::kV1Beta2, "d", "a\"<b>", "null", {item("p", 1, kTime)});
  EXPECT_NE(body.find(R"("name":"a\"\u003cb\u003e")"), std::string::npos) << body;
}

TEST(MetricValueList, SelectorsBecomeLabelSelectorObjects) {
  const auto f = [](int line, std::string_view text, std::string_view want) {
    SCOPED_TRACE(line);
    EXPECT_EQ(*label_selector_json(selector(text)), want);
  };
  f(__LINE__, "", "null");
  f(__LINE__, "a=1", R"({"matchLabels":{"a":"1"}})");
  f(__LINE__, "b==2,a=1", R"({"matchLabels":{"a":"1","b":"2"}})");
  f(__LINE__, "t in (b,a),!x,y,z notin (q),w!=1",
    R"({"matchExpressions":[{"key":"t","operator":"In","values":["a","b"]},{"key":"w","operator":"NotIn","values":["1"]},)"
    R"({"key":"x","operator":"DoesNotExist"},{"key":"y","operator":"Exists"},{"key":"z","operator":"NotIn","values":["q"]}]})");
  f(__LINE__, "a=1,b",
    R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]})");
  EXPECT_EQ(label_selector_json(selector("a>1")).error().code, Code::kBadRequest);
}

TEST(MetricValueList, OnlyTwoVersionsExist) {
  EXPECT_EQ(custom_version("v1beta1"), CustomVersion::kV1Beta1);
  EXPECT_EQ(custom_version("v1beta2"), CustomVersion::kV1Beta2);
  EXPECT_EQ(custom_version("v1"), std::nullopt);
}

}  // namespace
}  // namespace loadline::apiserver
