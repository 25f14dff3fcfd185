#include "scrape/exposition.h"

#include "scrape/sample_store.h"
#include "tests/support/page_file.h"
#include "tests/support/scan.h"

#include <gtest/gtest.h>

namespace loadline::scrape {
namespace {

using testing::page_file;
using testing::scan;

// The value of the one sample of that name; NaN where there is none or more than one.
double only(const ScrapeResult& result, const WantedNames& wanted, std::string_view name) {
  double value = std::numeric_limits<double>::quiet_NaN();
  int found = 0;
  for (const Sample& sample : result.samples) {
    if (wanted.names()[sample.name_index] != name) continue;
    value = sample.value;
    ++found;
  }
  return found == 1 ? value : std::numeric_limits<double>::quiet_NaN();
}

std::string label(const ScrapeResult& result, const Sample& sample, std::string_view name) {
  for (auto it = result.labels_begin(sample); it != result.labels_end(sample); ++it) {
    if (it->name == name) return std::string(it->value);
  }
  return "(none)";
}

TEST(Exposition, B49SpacingIsTolerated) {
  const std::string page = page_file("B49-spacing.prom");
  const WantedNames wanted({"vllm:num_requests_running", "vllm:num_requests_waiting",
                            "vllm:kv_cache_usage_perc", "vllm:generation_tokens_total",
                            "vllm:num_preemptions_total", "lat_bucket", "lat_sum", "lat_count",
                            "indented_metric", "last_line_without_newline"});
  const ScrapeResult result = scan(page, wanted);
  EXPECT_EQ(result.failure, ScrapeFailure::kNone);
  EXPECT_EQ(result.samples_on_page, 11u);
  EXPECT_EQ(result.refused_lines, 0u);
  EXPECT_EQ(only(result, wanted, "vllm:num_requests_running"), 4);
  EXPECT_EQ(only(result, wanted, "vllm:num_requests_waiting"), 3);
  EXPECT_EQ(only(result, wanted, "vllm:kv_cache_usage_perc"), 0.25);
  EXPECT_EQ(only(result, wanted, "vllm:generation_tokens_total"), 1500);
  EXPECT_EQ(only(result, wanted, "vllm:num_preemptions_total"), 5);
  EXPECT_EQ(only(result, wanted, "lat_sum"), 3.5);
  EXPECT_EQ(only(result, wanted, "lat_count"), 7);
  EXPECT_EQ(only(result, wanted, "indented_metric"), 2);
  EXPECT_EQ(only(result, wanted, "last_line_without_newline"), 9);
  ASSERT_EQ(result.samples.size(), 11u);
  EXPECT_EQ(result.samples[3].timestamp_ms, 1767323045000);
  EXPECT_EQ(label(result, result.samples[6], "le"), "+Inf");
  EXPECT_EQ(result.samples[6].value, 7);
}

TEST(Exposition, B51TheFirstOfTheSameSeriesWinsAndTheRestAreCounted) {
  const WantedNames wanted({"vllm:num_requests_running", "vllm:num_requests_waiting"});
  const ScrapeResult result = scan(page_file("B51-duplicate-series.prom"), wanted);
  ASSERT_EQ(result.samples.size(), 3u);
  EXPECT_EQ(only(result, wanted, "vllm:num_requests_running"), 4);
  EXPECT_EQ(result.samples[1].value, 1);
  EXPECT_EQ(label(result, result.samples[1], "engine"), "0");
  EXPECT_EQ(result.samples[2].value, 2);
  EXPECT_EQ(label(result, result.samples[2], "engine"), "1");
  EXPECT_EQ(result.duplicates, 2u);
  EXPECT_EQ(result.samples_on_page, 5u);
}

TEST(Exposition, AnEmptyLabelValueIsTheSameSeriesAsNoLabel) {
  const WantedNames wanted({"x"});
  const ScrapeResult result =
      scan("x{a=\"\",b=\"1\"} 1\nx{b=\"1\",c=\"\"} 2\nx 3\nx{c=\"\"} 4\n", wanted);
  ASSERT_EQ(result.samples.size(), 2u);
  EXPECT_EQ(result.samples[0].value, 1);
  EXPECT_EQ(result.samples[1].value, 3);
  EXPECT_EQ(result.duplicates, 2u);
}

TEST(Exposition, MalformedLinesAreCountedAndThePageGoesOn) {
  const WantedNames wanted({"x", "y"});
  const ScrapeResult result = scan("x 1\nx{a=\"b} 2\nx{a=\"b\"} 0x3\n?!\ny 4\nz bad\n", wanted);
  EXPECT_EQ(result.failure, ScrapeFailure::kNone);
  ASSERT_EQ(result.samples.size(), 2u);
  EXPECT_EQ(only(result, wanted, "y"), 4);
  EXPECT_EQ(result.refused_lines, 3u);
  EXPECT_EQ(result.samples_on_page, 3u) << "an unwanted line is stepped over unread";
}

TEST(Exposition, ANameThatBeginsLikeAWantedOneIsAnotherName) {
  const WantedNames wanted({"vllm:request_success", "vllm:request_success_total"});
  const ScrapeResult result = scan(
      "vllm:request_success_tot 1\nvllm:request_success_total 2\nvllm:request_success_totals 3\n",
      wanted);
  ASSERT_EQ(result.samples.size(), 1u);
  EXPECT_EQ(result.samples[0].name_index, 1);
  EXPECT_EQ(result.samples[0].value, 2);
  EXPECT_EQ(result.samples_on_page, 3u);
}

TEST(Exposition, CrLfAndByteOrderMarkAreStripped) {
  const WantedNames wanted({"x", "y"});
  const ScrapeResult result = scan("\xef\xbb\xbfx 1\r\n\r\n# c\r\ny{a=\"b\"} 2\r\n", wanted);
  EXPECT_EQ(only(result, wanted, "x"), 1);
  EXPECT_EQ(only(result, wanted, "y"), 2);
  EXPECT_EQ(result.refused_lines, 0u);
  EXPECT_EQ(scan("x 1\n\xef\xbb\xbfy 2\n", wanted).refused_lines, 1u)
      << "a mark in the middle is no mark";
}

TEST(Exposition, AnEmptyPageAndOneOfCommentsAreGoodPagesWithoutSamples) {
  const WantedNames wanted({"x"});
  for (const std::string& page :
       {std::string(), std::string("\n \n\t"), page_file("vllm-0.5-empty-1.prom")}) {
    const ScrapeResult result = scan(page, wanted);
    EXPECT_EQ(result.failure, ScrapeFailure::kNone) << page;
    EXPECT_EQ(result.samples_on_page, 0u);
    EXPECT_EQ(result.page_bytes, page.size());
  }
}

TEST(Exposition, B47WhatIsNoExpositionIsAFailureThatSaysWhatItLooksLike) {
  const WantedNames wanted({"x", "a"});
  const auto f = [&](const std::string& page, std::string_view want, int at) {
    const ScrapeResult result = scan(page, wanted);
    EXPECT_EQ(result.failure, ScrapeFailure::kNotMetrics) << "line " << at;
    EXPECT_NE(result.message.find(want), std::string::npos)
        << "line " << at << ": " << result.message;
    EXPECT_TRUE(result.samples.empty());
    EXPECT_EQ(result.samples_on_page, 0u);
    EXPECT_EQ(result.page_bytes, page.size());
  };
  f("<!DOCTYPE html>\n<html>\nx 1\n</html>\n", "HTML", __LINE__);
  f("\n  <html><body>login</body></html>", "HTML", __LINE__);
  f("[]", "/prometheus/metrics", __LINE__);
  f(page_file("trtllm-serve-json-metrics-synthetic.txt"), "/prometheus/metrics", __LINE__);
  f("{\"detail\":\"Not Found\"}", "JSON", __LINE__);
  f("{\n  \"a\": 1,\n  \"b\": {}\n}\n", "JSON", __LINE__);
  f(std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10), "binary", __LINE__);
  f(std::string("x 1\n\0", 5), "binary", __LINE__);
  f("OK\n", "no line", __LINE__);
  f("404 page not found\n", "no line", __LINE__);
  f("Please log in, it is 1\n", "no line", __LINE__);
  f("<" + std::string(100'000, 'x'), "HTML", __LINE__);
  f(std::string(100'000, 'x'), "no line", __LINE__);
}

TEST(Exposition, ALongLineIsRefusedAndThePageGoesOn) {
  const WantedNames wanted({"x", "y"});
  const std::string most = "x{a=\"" + std::string(kMostLineBytes - 9, 'l') + "\"} 1";
  ASSERT_EQ(most.size(), kMostLineBytes);
  EXPECT_EQ(scan(most + "\ny 2\n", wanted).samples.size(), 2u);
  EXPECT_EQ(scan("y 2\n" + most + "\n", wanted).samples.size(), 2u);
  for (const std::size_t more : {1u, 9000u}) {
    const std::string page = "y 2\n" + most + std::string(more, ' ') + "\nx 3\n";
    for (const std::vector<std::size_t>& cuts :
         {std::vector<std::size_t>{}, {10}, {kMostLineBytes}, {1, page.size() - 5}}) {
      const ScrapeResult result = scan(page, wanted, cuts);
      ASSERT_EQ(result.samples.size(), 2u);
      EXPECT_EQ(result.samples[1].value, 3);
      EXPECT_EQ(result.refused_lines, 1u);
    }
  }
}

TEST(Exposition, APageWithTooManyWantedSamplesIsAFailureNotHalfAPage) {
  const WantedNames wanted({"x"});
  std::string page;
  for (std::size_t i = 0; i < kMostSamples; ++i) page += "x{i=\"" + std::to_string(i) + "\"} 1\n";
  EXPECT_EQ(scan(page, wanted).samples.size(), kMostSamples);
  const ScrapeResult result = scan(page + "x 1\n", wanted);
  EXPECT_EQ(result.failure, ScrapeFailure::kTooLarge);
  EXPECT_TRUE(result.samples.empty());
  EXPECT_TRUE(result.labels.empty());
  EXPECT_TRUE(result.text.empty());
}

TEST(Exposition, OpenMetricsEndsWithEofAndHasSeconds) {
  const std::string page = page_file("openmetrics-1.0-synthetic.om");
  const WantedNames wanted(
      {"vllm:request_success_total", "vllm:e2e_request_latency_seconds_bucket", "q"});
  const ScrapeResult result = scan(page, wanted, {}, PageFormat::kOpenMetrics);
  EXPECT_EQ(result.failure, ScrapeFailure::kNone) << result.message;
  EXPECT_EQ(result.refused_lines, 0u);
  ASSERT_EQ(result.samples.size(), 4u);
  EXPECT_EQ(only(result, wanted, "vllm:request_success_total"), 4207) << "not the exemplar's value";
  EXPECT_EQ(label(result, result.samples[3], "l"), "a\\b\"c\nd");
  EXPECT_EQ(result.samples[3].timestamp_ms, 1'700'000'000'500);

  const std::string cut = page.substr(0, page.find("# EOF"));
  EXPECT_EQ(scan(cut, wanted, {}, PageFormat::kOpenMetrics).failure, ScrapeFailure::kCutShort);
  EXPECT_EQ(scan(cut, wanted).failure, ScrapeFailure::kNone) << "only OpenMetrics promises an end";
}

TEST(Exposition, ViewsStayGoodWhenTheResultMoves) {
  const WantedNames wanted({"x"});
  ScrapeResult moved;
  {
    ScrapeResult result =
        scan("x{a=\"b\",model=\"\\\"long\\\" enough to live on the heap\"} 1\n", wanted, {3, 20});
    moved = std::move(result);
  }
  ASSERT_EQ(moved.samples.size(), 1u);
  EXPECT_EQ(label(moved, moved.samples[0], "model"), "\"long\" enough to live on the heap");
}

}  // namespace
}  // namespace loadline::scrape
