#include "scrape/wanted_names.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace loadline::scrape {
namespace {

TEST(WantedNames, EachNameIsFoundAtItsIndexAndDuplicatesAreDropped) {
  const WantedNames wanted(
      {"a_total", "vllm:num_requests_running", "a_total", "vllm:num_requests_waiting", "up"});
  EXPECT_EQ(wanted.names(), (std::vector<std::string>{"a_total", "vllm:num_requests_running",
                                                      "vllm:num_requests_waiting", "up"}));
  for (std::uint16_t i = 0; i < wanted.names().size(); ++i) {
    EXPECT_EQ(wanted.find(wanted.names()[i]), i) << wanted.names()[i];
  }
}

TEST(WantedNames, WhatOnlyLooksLikeANameIsNotFound) {
  const WantedNames wanted({"vllm:num_requests_running", "lat_sum"});
  for (const char* name : {"", "vllm:num_requests_runnin", "vllm:num_requests_running_",
                           "vllm:num_requests_runninG", "lat", "lat_su", "at_sum", "lat_sum_"}) {
    EXPECT_EQ(wanted.find(name), std::nullopt) << name;
  }
}

TEST(WantedNames, NoNamesMeanThatNothingIsFoundOrBegun) {
  const WantedNames wanted({});
  EXPECT_EQ(wanted.find("a"), std::nullopt);
  EXPECT_EQ(wanted.find(""), std::nullopt);
  EXPECT_FALSE(wanted.may_begin("vllm:num_requests_running 1"));
}

TEST(WantedNames, ManyNamesThatShareHeadAndTailAreAllFoundAndPassTheGate) {
  std::vector<std::string> names;
  for (int i = 0; i < 4096; ++i)
    names.push_back("engine:family_" + std::to_string(i * i) + "_seconds_bucket");
  const WantedNames wanted(names);
  ASSERT_EQ(wanted.names().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(wanted.find(names[i]), i) << names[i];
    ASSERT_TRUE(wanted.may_begin(names[i].data())) << names[i];
  }
}

TEST(WantedNames, TheGateNeverHoldsBackAWantedLineHoweverShort) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{"q"},
                                                {"q", "vllm:num_requests_running"},
                                                {"eight_ch", "eight_ch_and_more"},
                                                {"vllm:a_b", "vllm:a_c"}}) {
    const WantedNames wanted(names);
    for (const std::string& name : names) {
      for (const std::string& line : {name, name + " 1", name + "{l=\"v\"} 1"}) {
        EXPECT_TRUE(line.size() < wanted.gate_bytes() || wanted.may_begin(line.data())) << line;
      }
    }
  }
}

TEST(WantedNames, TheGateHoldsBackLinesOfOtherFamilies) {
  const WantedNames wanted({"vllm:num_requests_running", "vllm:kv_cache_usage_perc"});
  EXPECT_FALSE(wanted.may_begin("vllm:time_to_first_token_seconds_bucket{le=\"1\"} 2"));
  EXPECT_LE(wanted.gate_bytes(), std::string("vllm:kv_cache_usage_perc").size());
}

TEST(WantedNames, MoreThan4096NamesAreAMistakeOfTheProgram) {
  std::vector<std::string> names;
  for (int i = 0; i < 4097; ++i) names.push_back("n" + std::to_string(i));
  EXPECT_THROW(WantedNames{names}, std::length_error);
}

}  // namespace
}  // namespace loadline::scrape
