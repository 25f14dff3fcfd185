#include "sim/vllm_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace loadline::sim {
namespace {

Engine busy_engine() {
  Engine engine(demo_engine());
  for (int i = 0; i < 40; ++i) {
    Request request;
    request.input_tokens = 300 + i;
    request.output_tokens = 15 + i % 11;
    request.prefix_tokens = 100;
    if (i % 4 == 0) request.reason = FinishReason::kLength;
    engine.submit(request);
  }
  engine.advance_to(2);
  return engine;
}

// Series as on the page, with their labels.
std::map<std::string, double> samples(const std::string& page) {
  std::map<std::string, double> result;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t blank = line.rfind(' ');
    EXPECT_TRUE(result.emplace(line.substr(0, blank), std::stod(line.substr(blank + 1))).second)
        << line;
  }
  return result;
}

PageOptions options() {
  PageOptions result;
  result.model_name = "org/model";
  return result;
}

TEST(VllmPage, NumbersAreTheEngines) {
  const Engine engine = busy_engine();
  const auto page = samples(vllm_page(engine, options()));
  const std::string labels = R"({engine="0",model_name="org/model"})";
  EXPECT_EQ(page.at("vllm:num_requests_running" + labels), engine.gauges().running);
  EXPECT_GT(page.at("vllm:num_requests_running" + labels), 0);
  EXPECT_GT(page.at("vllm:num_requests_waiting" + labels), 0);
  EXPECT_EQ(page.at("vllm:num_requests_waiting" + labels), engine.gauges().waiting);
  EXPECT_EQ(page.at("vllm:kv_cache_usage_perc" + labels), engine.gauges().kv_usage);
  EXPECT_EQ(page.at("vllm:generation_tokens_total" + labels), engine.counters().generation_tokens);
  EXPECT_EQ(page.at("vllm:prefix_cache_hits_total" + labels), engine.counters().prefix_hits);
  const auto finished = [&](const char* reason) {
    return page.at(std::string("vllm:request_success_total{engine=\"0\",finished_reason=\"") +
                   reason + "\",model_name=\"org/model\"}");
  };
  EXPECT_GT(finished("stop"), 0);
  EXPECT_GT(finished("length"), 0);
  EXPECT_EQ(finished("stop") + finished("length"), engine.completed());
  EXPECT_EQ(page.at(R"(vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000"})"),
            1);
}

TEST(VllmPage, HistogramsAreCumulativeAndEndInTheirCount) {
  const Engine engine = busy_engine();
  const auto page = samples(vllm_page(engine, options()));
  const auto bucket = [&](const char* bound) {
    return page.at(std::string("vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"") +
                   bound + "\",model_name=\"org/model\"}");
  };
  const std::string labels = R"({engine="0",model_name="org/model"})";
  EXPECT_LE(bucket("0.01"), bucket("0.025"));
  EXPECT_LE(bucket("0.025"), bucket("1.0"));
  EXPECT_EQ(bucket("80.0"), bucket("+Inf"));
  EXPECT_EQ(bucket("+Inf"), page.at("vllm:inter_token_latency_seconds_count" + labels));
  EXPECT_EQ(page.at("vllm:inter_token_latency_seconds_sum" + labels),
            engine.histograms().itl.sum());
}

TEST(VllmPage, EverySampleHasHelpAndTypeAndNoFamilyComesTwice) {
  std::istringstream in(vllm_page(busy_engine(), options()));
  std::set<std::string> families;
  std::string family;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string hash, kind, name;
    words >> hash >> kind >> name;
    if (hash == "#" && kind == "HELP") {
      EXPECT_TRUE(families.insert(name).second) << name;
      family = name;
    } else if (hash == "#") {
      EXPECT_EQ(kind, "TYPE");
      EXPECT_EQ(name, family);
    } else {
      EXPECT_EQ(line.compare(0, family.size(), family), 0) << line;
    }
  }
  EXPECT_GT(families.size(), 20u);
}

TEST(VllmPage, ModelNamesAreEscaped) {
  PageOptions odd = options();
  odd.model_name = "a\"b\\c\nd";
  odd.engine = "3";
  const std::string page = vllm_page(Engine(demo_engine()), odd);
  EXPECT_NE(page.find(R"(vllm:num_requests_running{engine="3",model_name="a\"b\\c\nd"} 0.0)"),
            std::string::npos);
}

TEST(VllmPage, TheStartOfTheProcessIsThereWhenKnown) {
  EXPECT_EQ(vllm_page(Engine(demo_engine()), options()).find("process_start"), std::string::npos);
  PageOptions known = options();
  known.start_unix_s = 1.7e9;
  EXPECT_EQ(samples(vllm_page(Engine(demo_engine()), known)).at("process_start_time_seconds"),
            1.7e9);
}

TEST(VllmPage, SignalsSayTheSame) {
  const Engine engine = busy_engine();
  const auto page = samples(vllm_page(engine, options()));
  const estimator::EngineSignals signals = signals_of(engine);
  const std::string labels = R"({engine="0",model_name="org/model"})";
  EXPECT_EQ(signals.t_s, 2);
  EXPECT_EQ(signals.completed_total, static_cast<double>(engine.completed()));
  EXPECT_EQ(signals.running, page.at("vllm:num_requests_running" + labels));
  EXPECT_EQ(signals.waiting, page.at("vllm:num_requests_waiting" + labels));
  EXPECT_EQ(signals.prompt_tokens_total, page.at("vllm:prompt_tokens_total" + labels));
  EXPECT_EQ(signals.prompt_tokens_cached_total,
            page.at("vllm:prompt_tokens_cached_total" + labels));
  EXPECT_EQ(signals.generation_tokens_total, page.at("vllm:generation_tokens_total" + labels));
  EXPECT_EQ(signals.iterations_total, page.at("vllm:iteration_tokens_total_count" + labels));
  EXPECT_EQ(signals.iteration_tokens_total, page.at("vllm:iteration_tokens_total_sum" + labels));
  EXPECT_EQ(signals.itl_seconds_sum, page.at("vllm:inter_token_latency_seconds_sum" + labels));
  EXPECT_EQ(signals.itl_seconds_count, page.at("vllm:inter_token_latency_seconds_count" + labels));
  EXPECT_EQ(signals.preemptions_total, page.at("vllm:num_preemptions_total" + labels));
  EXPECT_EQ(signals.kv_usage, page.at("vllm:kv_cache_usage_perc" + labels));
}

}  // namespace
}  // namespace loadline::sim
