#include "provider/pod_metrics.h"

#include "tests/unit/provider/provider_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loadline::provider {
namespace {

using scrape::ScrapeFailure;
using testing::AllOf;
using testing::HasSubstr;

std::string running(double value) { return Page{{{"num_requests_running", value}}}.text(); }

std::string error_of(const Result<std::vector<PodMetricItem>>& answer,
                     Code code = Code::kNotFound) {
  if (answer) return "an answer";
  EXPECT_EQ(answer.error().code, code);
  return answer.error().message;
}

TEST(PodMetrics, B03TheThreeCausesOfNothingAreToldApart) {
  Rig rig;
  rig.pods({engine_pod("a", "ua"), engine_pod("b", "ub")});
  rig.failed("ua", ScrapeFailure::kConnect, "connection refused");
  rig.failed("ub", ScrapeFailure::kConnect, "connection refused");
  EXPECT_THAT(error_of(rig.ask("nosuch")),
              AllOf(HasSubstr("\"nosuch\""), HasSubstr("inference_capacity")));
  EXPECT_THAT(error_of(rig.ask("inference_requests_running", "app=none")),
              AllOf(HasSubstr("no pod"), HasSubstr("app=none"), HasSubstr("ns1")));
  EXPECT_THAT(error_of(rig.ask("inference_requests_running")),
              AllOf(HasSubstr("2 pods match"), HasSubstr("2 scrape_failed"),
                    HasSubstr("connection refused"), HasSubstr("none was ever read")));
  EXPECT_EQ(rig.metrics.metrics().unknown_metric_total.value(), 1u);
  EXPECT_EQ(rig.metrics.metrics().no_pod_total.value(), 1u);
  EXPECT_EQ(rig.metrics.metrics().left_out_total.value(), 1u);
}

TEST(PodMetrics, B09OneItemForEachPodInAStableOrder) {
  Rig rig;
  rig.pods({engine_pod("c", "uc"), engine_pod("a", "ua"), engine_pod("b", "ub")});
  rig.page("uc", running(4));
  rig.page("ua", running(3));
  rig.page("ub", running(2));
  const auto answer = rig.ask("inference_requests_running", "app=llm");
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  ASSERT_EQ(answer->size(), 3u);
  EXPECT_EQ(answer->at(0).pod, "a");
  EXPECT_EQ(answer->at(1).pod, "b");
  EXPECT_EQ(answer->at(2).pod, "c");
  EXPECT_EQ(answer->at(0).value.value, 3);
  EXPECT_EQ(answer->at(0).value.timestamp, rig.clock.wall_now());
  EXPECT_EQ(answer->at(0).value.window, std::nullopt);
  EXPECT_EQ(rig.metrics.metrics().served_total.value(), 1u);
}

TEST(PodMetrics, APodIsAskedByNameWhateverItsLabels) {
  Rig rig;
  rig.pods({engine_pod("a", "ua"), engine_pod("b", "ub")});
  rig.page("ua", running(3));
  rig.page("ub", running(2));
  const auto answer = rig.ask("inference_requests_running", "", "b");
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->size(), 1u);
  EXPECT_EQ(answer->at(0).value.value, 2);
  EXPECT_THAT(error_of(rig.ask("inference_requests_running", "", "z")), HasSubstr("no pod \"z\""));
}

TEST(PodMetrics, OtherNamespacesAreNotSeen) {
  Rig rig;
  kube::Pod before = engine_pod("a", "u0"), after = engine_pod("a", "u2");
  before.namespace_name = "ns0";
  after.namespace_name = "ns2";
  rig.pods({before, engine_pod("a", "u1"), after});
  for (const std::string uid : {"u0", "u1", "u2"}) rig.page(uid, running(uid == "u1" ? 1 : 9));
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"a", 1}}));
}

TEST(PodMetrics, NothingIsSaidBeforeTheFirstCompleteList) {
  Rig rig;
  EXPECT_THAT(error_of(rig.ask("inference_capacity"), Code::kUnavailable),
              HasSubstr("not complete"));
  rig.pods({engine_pod("a", "ua")}, false);
  error_of(rig.ask("inference_capacity"), Code::kUnavailable);
  EXPECT_EQ(rig.metrics.metrics().not_synced_total.value(), 2u);
}

TEST(PodMetrics, AFrozenDataLoopServesNothingOld) {
  Rig rig;
  rig.pods({engine_pod("a", "ua"), engine_pod("b", "ub")});
  rig.page("ua", running(3));
  rig.clock.set(10);
  rig.page("ub", running(2));
  rig.clock.set(16);
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"b", 2}}));
  rig.clock.set(26);
  EXPECT_THAT(error_of(rig.ask("inference_requests_running")),
              AllOf(HasSubstr("2 stale"), HasSubstr("16.0 s old")));
}

TEST(PodMetrics, AValueThatIsNotThereYetSaysWhy) {
  Rig rig;
  rig.pods({engine_pod("a", "ua")});
  rig.page("ua",
           "vllm:num_requests_running 1\nvllm:request_success_total{finished_reason=\"stop\"} 5\n");
  EXPECT_THAT(error_of(rig.ask("inference_capacity")), HasSubstr("1 no_baseline"));
  EXPECT_THAT(error_of(rig.ask("inference_requests_waiting")), HasSubstr("1 signal_missing"));
}

TEST(PodMetrics, TheReasonsAreCounted) {
  Rig rig;
  std::vector<kube::Pod> pods;
  for (const std::string name : {"a", "b", "c", "d", "e", "f"})
    pods.push_back(engine_pod(name, name));
  pods[0].phase = kube::PodPhase::kPending;
  pods[1].phase = kube::PodPhase::kFailed;
  pods[2].deletion_timestamp = WallTime{};
  pods[3].ready = false;
  pods[4].annotations.clear();
  rig.pods(pods);
  EXPECT_THAT(error_of(rig.ask("inference_capacity")),
              HasSubstr("6 pods match and none has a value: 1 never_ready, 1 no_target, 2 "
                        "not_running, 1 not_scraped, "
                        "1 terminating; ns1/a: phase Pending"));
}

TEST(PodMetrics, ALongQuestionMakesNoLongAnswer) {
  Rig rig;
  rig.pods({});
  EXPECT_LT(error_of(rig.ask(std::string(100'000, 'x'))).size(), 1000u);
  EXPECT_LT(error_of(rig.ask("inference_capacity", "", std::string(100'000, 'x'))).size(), 1000u);
}

TEST(LeftOutReason, HasANameForEach) {
  EXPECT_EQ(to_string(LeftOut::kNot), "served");
  EXPECT_EQ(to_string(LeftOut::kStale), "stale");
  EXPECT_EQ(to_string(LeftOut::kNeverReady), "never_ready");
}

TEST(Catalogue, NamesAreUniqueAndFoundAgain) {
  for (std::size_t i = 0; i < kPodMetrics; ++i) {
    const auto metric = static_cast<PodMetric>(i);
    EXPECT_EQ(pod_metric_named(info(metric).name), metric);
    EXPECT_THAT(std::string(info(metric).name), testing::StartsWith("inference_"));
    EXPECT_FALSE(info(metric).help.empty());
    EXPECT_FALSE(info(metric).unit.empty());
  }
  EXPECT_EQ(pod_metric_named("inference_"), std::nullopt);
}

}  // namespace
}  // namespace loadline::provider
