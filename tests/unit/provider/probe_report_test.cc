#include "provider/probe_report.h"

#include "tests/unit/provider/provider_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::provider {
namespace {

class Probe : public testing::Test {
 protected:
  const std::vector<EngineProfile> profiles_ = built_in_profiles();
  const scrape::WantedNames wanted_{wanted_sample_names(profiles_)};
};

TEST_F(Probe, SaysEngineSignalsAndWhatIsMissing) {
  const auto report =
      make_probe_report(profiles_, scan(testdata("pages/vllm-0.8-v1-1.prom"), wanted_), wanted_);
  ASSERT_TRUE(report.has_value());
  const auto json = nlohmann::ordered_json::parse(to_json(*report));
  EXPECT_EQ(json["engine"], "vllm");
  EXPECT_EQ(json["model"], "Qwen/Qwen2.5-Coder-32B-Instruct");
  EXPECT_EQ(json["signals"]["running"], 0);
  EXPECT_TRUE(json["signals"]["completed_total"].is_null());
  EXPECT_EQ(json["signals"].size(), kRoles);
  EXPECT_EQ(json["missing"].size(), kRoles - 3);
  EXPECT_EQ(json["missing"][0], "completed_total");
  EXPECT_EQ(json["warnings"].size(), 1u);
  EXPECT_EQ(json.begin().key(), "engine");
}

TEST_F(Probe, CountsLookLikeCounts) {
  ProbeReport report;
  report.signals.running = 37;
  report.signals.kv_usage = 0.8121;
  report.signals.prompt_tokens_total = 1e300;
  const std::string text = to_json(report);
  EXPECT_NE(text.find("\"running\": 37,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"kv_usage\": 0.8121"), std::string::npos) << text;
  EXPECT_NE(text.find("\"prompt_tokens_total\": 1e+300"), std::string::npos) << text;
}

TEST_F(Probe, APageOfNoEngineIsAReportNotAnError) {
  const auto report = make_probe_report(profiles_, scan("up 1\n", wanted_), wanted_);
  ASSERT_TRUE(report.has_value());
  const auto json = nlohmann::json::parse(to_json(*report));
  EXPECT_TRUE(json["engine"].is_null());
  EXPECT_EQ(json["missing"].size(), kRoles);
  EXPECT_EQ(json["warnings"].size(), 1u);
}

TEST_F(Probe, AFailedScrapeIsAnErrorWithItsReason) {
  scrape::ScrapeResult page;
  page.failure = scrape::ScrapeFailure::kConnect;
  page.message = "connection refused";
  const auto report = make_probe_report(profiles_, page, wanted_);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().message, "connect: connection refused");
}

}  // namespace
}  // namespace loadline::provider
