#include "provider/signals.h"

#include "tests/unit/provider/provider_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

namespace loadline::provider {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Signals : public testing::Test {
 protected:
  PageSignals fold_text(const std::string& text) const {
    const auto page = scan(text, wanted_);
    EXPECT_EQ(page.failure, scrape::ScrapeFailure::kNone) << page.message;
    const EngineProfile* profile = detect(profiles_, page, wanted_);
    if (profile == nullptr) {
      ADD_FAILURE() << "no engine";
      return {};
    }
    return fold(*profile, page, wanted_, seconds(15));
  }

  const std::vector<EngineProfile> profiles_ = built_in_profiles();
  const scrape::WantedNames wanted_{wanted_sample_names(profiles_)};
};

TEST_F(Signals, EveryPageMeansWhatWasWorkedOutByHand) {
  const auto expectations = nlohmann::json::parse(testdata("expectations.json"));
  for (const auto& [name, want] : expectations["pages"].items()) {
    SCOPED_TRACE(name);
    const bool open_metrics = name.ends_with(".om");
    std::string text = testdata("pages/" + name);
    if (open_metrics) text.erase(0, text.find('\n') + 1);
    const auto page = scan(
        text, wanted_, open_metrics ? scrape::PageFormat::kOpenMetrics : scrape::PageFormat::kText);
    ASSERT_EQ(page.failure, scrape::ScrapeFailure::kNone) << page.message;
    const EngineProfile* profile = detect(profiles_, page, wanted_);
    if (want["engine"].is_null()) {
      EXPECT_EQ(profile, nullptr);
      continue;
    }
    ASSERT_NE(profile, nullptr);
    const PageSignals got = fold(*profile, page, wanted_, seconds(15));
    EXPECT_EQ(got.engine, want["engine"].get<std::string>());
    EXPECT_EQ(got.model, want["model"].get<std::string>());
    EXPECT_EQ(got.warnings.size(), want["warnings"].get<std::size_t>())
        << testing::PrintToString(got.warnings);
    for (std::size_t i = 0; i < kRoles; ++i) {
      const auto role = static_cast<Role>(i);
      const std::string role_name(to_string(role));
      const auto& value = signal(got.signals, role);
      const bool missing = testing::Value(got.missing, testing::Contains(role_name));
      EXPECT_EQ(value.has_value(), want["signals"].contains(role_name)) << role_name;
      EXPECT_EQ(missing, !value.has_value()) << role_name;
      if (value && want["signals"].contains(role_name)) {
        EXPECT_DOUBLE_EQ(*value, want["signals"][role_name].get<double>()) << role_name;
      }
    }
  }
}

TEST_F(Signals, B49SpacingIsToleratedAndAnOldTimeStampSpoilsItsSampleOnly) {
  const std::string text = testdata("field-cases/B49-spacing.prom");
  const auto fresh = fold_text(text);
  EXPECT_EQ(fresh.signals.running, 4);
  EXPECT_EQ(fresh.signals.waiting, 3);
  EXPECT_EQ(fresh.signals.kv_usage, 0.25);
  EXPECT_EQ(fresh.signals.generation_tokens_total, 1500);
  EXPECT_EQ(fresh.signals.preemptions_total, 5);

  auto page = scan(text, wanted_);
  page.wall_time += seconds(16);
  const auto old = fold(profiles_[0], page, wanted_, seconds(15));
  EXPECT_EQ(old.signals.generation_tokens_total, std::nullopt);
  EXPECT_EQ(old.signals.running, 4);
  EXPECT_THAT(old.warnings, ElementsAre(HasSubstr("old time stamp")));
}

TEST_F(Signals, B51ASeriesThatStandsTwiceCountsOnceByItsFirstValue) {
  const auto got = fold_text(testdata("field-cases/B51-duplicate-series.prom"));
  EXPECT_EQ(got.signals.running, 4);
  EXPECT_EQ(got.signals.waiting, 3);
  EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("repeats series")));
}

TEST_F(Signals, B61DataParallelEnginesAreAddedAndTheFullestCacheCounts) {
  const auto got = fold_text(testdata("field-cases/B61-vllm-data-parallel.prom"));
  EXPECT_EQ(got.signals.running, 14);
  EXPECT_EQ(got.signals.waiting, 2);
  EXPECT_EQ(got.signals.kv_usage, 0.9);
  EXPECT_EQ(got.signals.generation_tokens_total, 4000);
  EXPECT_EQ(got.generation_tokens.size(), 3u);
}

TEST_F(Signals, B63OldAndNewNamesAreOneSignalAndNeverAdded) {
  const std::string text = testdata("field-cases/B63-vllm-renamed.prom");
  const auto two = text.find("# page 2"), three = text.find("# page 3");
  ASSERT_NE(two, std::string::npos);
  ASSERT_NE(three, std::string::npos);
  const auto old = fold_text(text.substr(0, two));
  EXPECT_EQ(old.signals.kv_usage, 0.42);
  EXPECT_THAT(old.warnings,
              ElementsAre("kv_usage: read from the deprecated vllm:gpu_cache_usage_perc"));
  const auto both = fold_text(text.substr(two, three - two));
  EXPECT_EQ(both.signals.kv_usage, 0.42);
  EXPECT_THAT(both.warnings, IsEmpty());
  EXPECT_EQ(fold_text(text.substr(three)).signals.kv_usage, 0.42);
  const auto neither = fold_text("vllm:num_requests_running 3\nvllm:num_requests_waiting 1\n");
  EXPECT_EQ(neither.signals.kv_usage, std::nullopt);
  EXPECT_EQ(neither.signals.running, 3);
}

TEST_F(Signals, B71AdapterInfoIsNoLoadAndItsAbsenceSilent) {
  const auto got = fold_text(testdata("field-cases/B71-vllm-lora-info.prom"));
  EXPECT_EQ(got.signals.running, 2);
  EXPECT_EQ(got.signals.waiting, 1);
  EXPECT_THAT(got.warnings, IsEmpty());
  EXPECT_THAT(fold_text("vllm:num_requests_running 2\n").warnings, IsEmpty());
}

TEST_F(Signals, AReasonThatNeverHappenedIsZeroOnceTheFamilyIsThere) {
  EXPECT_EQ(fold_text("vllm:request_success_total{finished_reason=\"abort\"} 3\n")
                .signals.completed_total,
            0);
  EXPECT_EQ(fold_text("vllm:num_requests_running 0\n").signals.completed_total, std::nullopt);
}

TEST_F(Signals, OneProcessIdIsRealAndEnginesAreAddedAfterwards) {
  const auto got = fold_text(
      "vllm:num_requests_running{engine=\"0\",pid=\"7\"} "
      "0\nvllm:num_requests_running{engine=\"0\",pid=\"8\"} 5\n"
      "vllm:num_requests_running{pid=\"7\",engine=\"1\"} "
      "9\nvllm:num_requests_running{engine=\"1\",pid=\"9\"} 4\n");
  EXPECT_EQ(got.signals.running, 14);
}

TEST_F(Signals, WhatIsNoNumberMakesItsRoleUnknownAndNoOther) {
  for (const std::string bad : {"NaN", "+Inf", "-Inf", "-1"}) {
    SCOPED_TRACE(bad);
    const auto got = fold_text(
        "vllm:num_requests_running{engine=\"0\"} 5\nvllm:num_requests_running{engine=\"1\"} " +
        bad + "\nvllm:num_requests_waiting 2\n");
    EXPECT_EQ(got.signals.running, std::nullopt);
    EXPECT_EQ(got.signals.waiting, 2);
    ASSERT_EQ(got.warnings.size(), 1u);
    EXPECT_THAT(got.warnings[0], HasSubstr("running: vllm:num_requests_running"));
  }
}

TEST_F(Signals, AnUnusableNewNameIsNotReplacedByTheOldOne) {
  const auto got = fold_text("vllm:kv_cache_usage_perc NaN\nvllm:gpu_cache_usage_perc 0.4\n");
  EXPECT_EQ(got.signals.kv_usage, std::nullopt);
}

TEST_F(Signals, NaNInASeriesThatIsNotKeptDoesNoHarm) {
  const auto got = fold_text(
      "vllm:request_success_total{finished_reason=\"error\"} NaN\n"
      "vllm:request_success_total{finished_reason=\"stop\"} 4\n");
  EXPECT_EQ(got.signals.completed_total, 4);
}

TEST_F(Signals, AFloodOfSeriesMakesTheRoleUnknown) {
  std::string text = "vllm:num_requests_waiting 2\n";
  for (std::size_t i = 0; i <= kMostSeries; ++i) {
    text += "vllm:num_requests_running{engine=\"" + std::to_string(i) + "\"} 1\n";
  }
  const auto got = fold_text(text);
  EXPECT_EQ(got.signals.running, std::nullopt);
  EXPECT_EQ(got.signals.waiting, 2);
}

TEST_F(Signals, AnOverflowingSumIsUnknown) {
  const auto got = fold_text(
      "vllm:prompt_tokens_total{engine=\"0\"} 1.7e308\nvllm:prompt_tokens_total{engine=\"1\"} "
      "1.7e308\n");
  EXPECT_EQ(got.signals.prompt_tokens_total, std::nullopt);
}

TEST_F(Signals, ARoutersPageIsNoEngine) {
  const auto page = scan("vllm:num_requests_running{server=\"http://10.0.0.7:8000\"} 5\n", wanted_);
  EXPECT_EQ(detect(profiles_, page, wanted_), nullptr);
}

TEST_F(Signals, CachedTokensFallBackFromTheTotalToTheSourcesToTheHits) {
  const std::string hits = "vllm:prefix_cache_hits_total 30\n";
  const std::string sources =
      "vllm:prompt_tokens_by_source_total{source=\"local_compute\"} 50\n"
      "vllm:prompt_tokens_by_source_total{source=\"local_cache_hit\"} 20\n"
      "vllm:prompt_tokens_by_source_total{source=\"external_kv_transfer\"} 2\n";
  const auto cached = [&](const std::string& text) {
    return fold_text(text).signals.prompt_tokens_cached_total;
  };
  EXPECT_EQ(cached("vllm:prompt_tokens_cached_total 10\n" + sources + hits), 10);
  EXPECT_EQ(cached(sources + hits), 22);
  EXPECT_EQ(cached(hits), 30);
  EXPECT_EQ(cached(hits + "vllm:external_prefix_cache_hits_total 5\n"), 35);
  EXPECT_EQ(cached("vllm:num_requests_running 1\nvllm:external_prefix_cache_hits_total 5\n"),
            std::nullopt);
  EXPECT_EQ(cached("vllm:num_requests_running 1\nvllm:gpu_prefix_cache_hits_total 5\n"),
            std::nullopt);
}

TEST_F(Signals, TheKeyOfASeriesDoesNotDependOnTheOrderOfItsLabels) {
  const auto a = fold_text("vllm:request_success_total{engine=\"0\",finished_reason=\"stop\"} 1\n");
  const auto b = fold_text("vllm:request_success_total{finished_reason=\"stop\",engine=\"0\"} 1\n");
  const auto c = fold_text("vllm:request_success_total{finished_reason=\"stop\",engine=\"1\"} 1\n");
  ASSERT_EQ(a.completed.size(), 1u);
  EXPECT_EQ(a.completed[0].key, b.completed.at(0).key);
  EXPECT_NE(a.completed[0].key, c.completed.at(0).key);
}

TEST_F(Signals, ProfilesThatWrapAnEngineAreTriedFirst) {
  const auto wrapper =
      parse_engine_profile("w.yaml",
                           "schema: 1\nengine: wrapper\ndetect: {rank: 1, prefixes: [wrap_]}\n"
                           "roles: {running: [{sample: wrap_running}]}\n");
  ASSERT_TRUE(wrapper.has_value());
  const std::vector<EngineProfile> profiles{*wrapper, profiles_[0]};
  const scrape::WantedNames wanted(wanted_sample_names(profiles));
  const auto page = scan("vllm:num_requests_running 3\nwrap_running 4\n", wanted);
  const EngineProfile* profile = detect(profiles, page, wanted);
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->engine, "wrapper");
  EXPECT_EQ(fold(*profile, page, wanted, seconds(15)).signals.running, 4);
}

}  // namespace
}  // namespace loadline::provider
