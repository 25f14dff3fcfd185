#include "sim/engine.h"

#include "estimator/classic.h"
#include "sim/vllm_page.h"

#include <gtest/gtest.h>

#include <random>

namespace loadline::sim {
namespace {

// One millisecond a step and a tenth a token: arithmetic that a reader can follow.
EngineSpec plain_spec() {
  EngineSpec spec;
  spec.cost = {};
  spec.cost.a1_ms = 1;
  spec.cost.b1_ms = 0.1;
  spec.cost.fixed_ms = spec.cost.per_sequence_ms = 0;
  spec.kv_tokens = 1600;
  spec.max_num_seqs = 4;
  spec.max_batched_tokens = 100;
  return spec;
}

Request request(int input, int output, int prefix = 0) {
  Request result;
  result.input_tokens = input;
  result.output_tokens = output;
  result.prefix_tokens = prefix;
  return result;
}

TEST(Engine, OneRequestTakesItsPrefillAndAStepAToken) {
  Engine engine(plain_spec());
  ASSERT_TRUE(engine.submit(request(50, 3)));
  engine.advance_to(0.0059);
  EXPECT_EQ(engine.counters().generation_tokens, 0);
  EXPECT_EQ(engine.gauges().running, 0);  // as on the page: after the step
  engine.advance_to(0.0061);              // 1 + 50*0.1 ms
  EXPECT_EQ(engine.counters().generation_tokens, 1);
  EXPECT_EQ(engine.gauges().running, 1);
  EXPECT_NEAR(engine.histograms().ttft.sum(), 0.006, 1e-12);
  engine.advance_to(1);
  EXPECT_EQ(engine.completed(), 1);
  EXPECT_EQ(engine.gauges().running, 0);
  EXPECT_EQ(engine.gauges().kv_usage, 0);
  EXPECT_EQ(engine.counters().prompt_tokens, 50);
  EXPECT_EQ(engine.counters().generation_tokens, 3);
  EXPECT_NEAR(engine.histograms().itl.sum(), 2 * 0.0011, 1e-12);
  EXPECT_NEAR(engine.histograms().e2e.sum(), 0.006 + 2 * 0.0011, 1e-12);
  EXPECT_EQ(engine.histograms().queue.sum(), 0);
  EXPECT_EQ(engine.steps(), 3);
  EXPECT_EQ(engine.histograms().iteration_tokens.sum(), 50 + 3);
}

TEST(Engine, ALongPromptIsPrefilledInChunksBesideTheDecodes) {
  Engine engine(plain_spec());
  engine.submit(request(10, 50));
  engine.advance_to(0.003);
  engine.submit(request(250, 1));
  const std::int64_t steps = engine.steps();
  engine.advance_to(0.045);
  // 99 tokens a step beside the one decode, 11 ms each: the third gives its only token.
  EXPECT_EQ(engine.histograms().ttft.count(), 2);
  EXPECT_EQ(engine.completed(), 1);
  EXPECT_GE(engine.steps(), steps + 3);
  EXPECT_NEAR(engine.histograms().ttft.sum(), 0.002 + 0.011 * 2 + 0.0063, 0.0015);
  // Never starved: one token in each step.
  EXPECT_EQ(engine.counters().generation_tokens, engine.steps() + 1);
}

TEST(Engine, AStepThatOnlyPrefillsIsNoIterationOnThePage) {
  Engine engine(plain_spec());
  engine.submit(request(250, 1));
  engine.advance_to(1);
  EXPECT_EQ(engine.steps(), 3);
  EXPECT_EQ(engine.histograms().iteration_tokens.count(), 1);
  EXPECT_EQ(engine.histograms().iteration_tokens.sum(), 251);
}

TEST(Engine, FirstComeFirstServedUpToTheSequenceLimit) {
  Engine engine(plain_spec());
  for (int i = 0; i < 6; ++i) engine.submit(request(10, 100));
  engine.advance_to(0.02);
  EXPECT_EQ(engine.gauges().running, 4);
  EXPECT_EQ(engine.gauges().waiting, 2);
  EXPECT_EQ(engine.in_flight(), 6u);
  EXPECT_GT(engine.gauges().kv_usage, 0);
  engine.advance_to(10);
  EXPECT_EQ(engine.completed(), 6);
  EXPECT_EQ(engine.gauges().waiting, 0);
  EXPECT_GT(engine.histograms().queue.sum(), 0.1);
}

TEST(Engine, WithoutRoomTheLastAreRecomputedAndNothingIsLost) {
  EngineSpec spec = plain_spec();
  spec.kv_tokens = 320;  // 20 blocks: room for the four prompts, not for their answers
  Engine engine(spec);
  for (int i = 0; i < 4; ++i) engine.submit(request(64, 100));
  engine.advance_to(100);
  EXPECT_GT(engine.counters().preemptions, 0);
  EXPECT_EQ(engine.completed(), 4);
  EXPECT_EQ(engine.counters().generation_tokens, 400);
  EXPECT_EQ(engine.counters().prompt_tokens, 256);  // recomputing counts no prompt twice
  EXPECT_EQ(engine.histograms().ttft.count(), 4);
  EXPECT_EQ(engine.histograms().itl.count(), 396);
  EXPECT_EQ(engine.histograms().queue.count(), 4);
  EXPECT_EQ(engine.gauges().kv_usage, 0);
}

TEST(Engine, APromptWaitsUntilAllOfItHasRoom) {
  EngineSpec spec = plain_spec();
  spec.kv_tokens = 320;
  Engine engine(spec);
  engine.submit(request(200, 16));
  engine.submit(request(200, 16));
  engine.advance_to(0.005 * 3);
  EXPECT_EQ(engine.gauges().running, 1);
  EXPECT_EQ(engine.gauges().waiting, 1);
  engine.advance_to(10);
  EXPECT_EQ(engine.completed(), 2);
  EXPECT_EQ(engine.counters().preemptions, 0);
}

TEST(Engine, PrefixHitsSpareTheirPrefillButNeverAllOfIt) {
  Engine cold(plain_spec()), warm(plain_spec()), full(plain_spec());
  cold.submit(request(80, 1));
  warm.submit(request(80, 1, 64));
  full.submit(request(80, 1, 80));
  for (Engine* engine : {&cold, &warm, &full}) engine->advance_to(1);
  EXPECT_NEAR(cold.histograms().ttft.sum(), 0.009, 1e-12);
  EXPECT_NEAR(warm.histograms().ttft.sum(), 0.0026, 1e-12);
  EXPECT_NEAR(full.histograms().ttft.sum(), 0.0011, 1e-12);
  EXPECT_EQ(warm.counters().prompt_tokens, 80);
  EXPECT_EQ(warm.counters().prompt_tokens_cached, 64);
  EXPECT_EQ(warm.counters().prefix_queries, 80);
  EXPECT_EQ(warm.counters().prefix_hits, 64);
  EXPECT_EQ(warm.histograms().iteration_tokens.sum(), 17);
}

TEST(Engine, WhatCanNeverRunIsRefused) {
  Engine engine(plain_spec());
  for (const Request& bad : {request(0, 5), request(5, 0), request(-1, 5), request(1600, 1),
                             request(1, 2'000'000'000), request(2'000'000'000, 2'000'000'000)}) {
    EXPECT_FALSE(engine.submit(bad));
  }
  EXPECT_TRUE(engine.submit(request(1599, 1)));
  engine.advance_to(10);
  EXPECT_EQ(engine.completed(), 1);
}

TEST(Engine, ReasonsAreCountedApart) {
  Engine engine(plain_spec());
  Request cut = request(5, 5);
  cut.reason = FinishReason::kLength;
  engine.submit(cut);
  engine.submit(request(5, 5));
  engine.submit(request(5, 5));
  engine.advance_to(1);
  EXPECT_EQ(engine.counters().finished[0], 2);
  EXPECT_EQ(engine.counters().finished[1], 1);
}

TEST(Engine, HowTimeIsCutDoesNotMatter) {
  std::mt19937 random(11);
  Engine coarse(llama3_8b_a100()), fine(llama3_8b_a100());
  double t_s = 0;
  for (int i = 0; i < 300; ++i) {
    const double next_s = t_s + 0.001 * static_cast<double>(random() % 500);
    for (int cut = 1; cut <= 3; ++cut) fine.advance_to(t_s + (next_s - t_s) * cut / 4);
    fine.advance_to(next_s);
    coarse.advance_to(next_s);
    t_s = next_s;
    const Request next =
        request(1 + static_cast<int>(random() % 2000), 1 + static_cast<int>(random() % 300));
    fine.submit(next);
    coarse.submit(next);
  }
  fine.advance_to(1000);
  coarse.advance_to(1000);
  EXPECT_EQ(fine.completed(), 300);
  EXPECT_EQ(fine.histograms().e2e.sum(), coarse.histograms().e2e.sum());
  EXPECT_EQ(fine.steps(), coarse.steps());
}

TEST(Engine, TimeNeverGoesBack) {
  Engine engine(plain_spec(), 100);
  EXPECT_EQ(engine.now_s(), 100);
  engine.advance_to(50);
  EXPECT_EQ(engine.now_s(), 100);
}

TEST(Engine, ASaturatedEngineIsWhatClassicMeasures) {
  Engine engine(demo_engine());
  for (int i = 0; i < 2000; ++i) engine.submit(request(512, 40 + i * 7 % 49));
  estimator::Classic classic;
  estimator::Estimate estimate;
  for (int i = 0; i <= 24; ++i) {
    engine.advance_to(5.0 * i);
    estimate = classic.update(signals_of(engine));
  }
  ASSERT_TRUE(estimate.capacity.has_value());
  const double throughput = static_cast<double>(engine.completed()) / 120;
  EXPECT_NEAR(*estimate.capacity / throughput, 1, 0.1);
  EXPECT_GT(throughput, 2);  // a few requests a second, as a demonstration wants it
  EXPECT_LT(throughput, 6);
}

}  // namespace
}  // namespace loadline::sim
