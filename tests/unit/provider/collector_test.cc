#include "provider/collector.h"

#include "kube/pod_decode.h"
#include "tests/unit/provider/provider_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::provider {
namespace {

using scrape::ScrapeFailure;
using testing::HasSubstr;

nlohmann::json field_case(const std::string& name) {
  return nlohmann::json::parse(testdata("field-cases/" + name));
}

Items items_of(const nlohmann::json& json) {
  Items items;
  for (const auto& [name, value] : json.items()) items[name] = value;
  return items;
}

std::string running(double value) { return Page{{{"num_requests_running", value}}}.text(); }

CollectorConfig every(int seconds) {
  CollectorConfig config;
  config.discovery.interval = std::chrono::seconds(seconds);
  return config;
}

TEST(Collector, B33DeadAndDyingPodsHaveNoItem) {
  auto input = field_case("B33-pod-phases.json");
  const auto want = field_case("B33-pod-phases.expected.json");
  // Alive first, so that each has a value that could be kept.
  std::vector<kube::Pod> pods;
  Rig rig;
  for (const auto& pod : input["pods"])
    pods.push_back(engine_pod(pod["metadata"]["name"], pod["metadata"]["uid"]));
  rig.pods(pods);
  for (const auto& [name, value] : input["last_scraped_values_of_requests_running"].items()) {
    rig.page("u-" + name, running(value));
  }
  EXPECT_EQ(rig.items("inference_requests_running").size(), 4u);

  for (auto& pod : input["pods"]) {
    pod["metadata"]["annotations"] = {{"prometheus.io/scrape", "true"},
                                      {"prometheus.io/port", "8000"}};
  }
  const nlohmann::json list = {{"kind", "PodList"}, {"apiVersion", "v1"}, {"items", input["pods"]}};
  const auto decoded = kube::decode_pod_list(list.dump(), kube::Encoding::kJson);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  pods.clear();
  for (const auto& pod : decoded->pods) pods.push_back(*pod);
  rig.pods(pods);
  Items expected;
  for (const auto& [name, value] : want["items"].items())
    expected[name] = std::stod(value.get<std::string>());
  EXPECT_EQ(rig.items("inference_requests_running"), expected);
  EXPECT_EQ(rig.reading("c").left_out, LeftOut::kNotRunning);
  EXPECT_EQ(rig.reading("d").left_out, LeftOut::kTerminating);
  EXPECT_EQ(rig.reading("e").left_out, LeftOut::kNotRunning);
  EXPECT_EQ(rig.targets.size(), 2u);
}

TEST(Collector, B38ARolloutHasExactlyThePodsThatCount) {
  const auto input = field_case("B38-rollout.json");
  const auto want = field_case("B38-rollout.expected.json");
  Rig rig(every(10));
  std::map<std::string, kube::Pod> pods;
  const auto tell = [&] {
    std::vector<kube::Pod> all;
    for (const auto& [name, pod] : pods) all.push_back(pod);
    rig.pods(all);
  };
  const auto apply = [&](const nlohmann::json& event) {
    if (event["event"] == "state") {
      pods["old"] = engine_pod("old", "u-old");
      tell();
      rig.page("u-old", running(event["pods"]["old"]["value"]));
      return;
    }
    const std::string name = event["pod"];
    if (event["event"] == "scrape") {
      if (event["result"].is_string())
        return rig.failed("u-" + name, ScrapeFailure::kConnect, event["result"]);
      return rig.page("u-" + name, running(event["result"]["requests_running"]));
    }
    if (event["event"] == "DELETED") {
      pods.erase(name);
    } else {
      if (event["event"] == "ADDED") {
        pods[name] = engine_pod(name, "u-" + name);
        pods[name].ready = false;
      }
      kube::Pod& pod = pods[name];
      if (event.contains("phase")) {
        pod.phase =
            event["phase"] == "Running" ? kube::PodPhase::kRunning : kube::PodPhase::kPending;
      }
      if (event.contains("ready")) pod.ready = event["ready"];
      if (event.contains("deletionTimestamp")) pod.deletion_timestamp = rig.clock.wall_now();
    }
    tell();
  };
  std::size_t next = 0;
  for (const double at : input["query_at"].get<std::vector<double>>()) {
    for (; next < input["events"].size() && input["events"][next]["t"] <= at; ++next) {
      rig.clock.set(input["events"][next]["t"]);
      apply(input["events"][next]);
    }
    rig.clock.set(at);
    std::string key = nlohmann::json(at).dump();
    if (key.ends_with(".0")) key.resize(key.size() - 2);
    EXPECT_EQ(rig.items("inference_requests_running"), items_of(want["items_at"][key]))
        << "t=" << key;
  }
}

TEST(Collector, B42ANewPodUnderAnOldNameStartsAnew) {
  const auto input = field_case("B42-same-name.json");
  const auto want = field_case("B42-same-name.expected.json");
  Rig rig;
  std::size_t next = 0;
  for (const double at : input["query_at"].get<std::vector<double>>()) {
    for (; next < input["events"].size() && input["events"][next]["t"] <= at; ++next) {
      const auto& event = input["events"][next];
      rig.clock.set(event["t"]);
      if (event["event"] == "ADDED") rig.pods({engine_pod(event["name"], event["uid"])});
      if (event["event"] == "DELETED") rig.pods({});
      if (event["event"] == "scrape_done") {
        Page page;
        page.samples["num_requests_running"] = event["values"]["requests_running"];
        page.samples["generation_tokens_total"] = event["values"]["generation_tokens_total"];
        rig.page(event["uid"], page.text());
      }
    }
    rig.clock.set(at);
    std::string key = nlohmann::json(at).dump();
    if (key.ends_with(".0")) key.resize(key.size() - 2);
    SCOPED_TRACE(key);
    EXPECT_EQ(rig.items("inference_requests_running"), items_of(want["items_at"][key]));
    if (want["token_rate_at"].contains(key)) {
      const auto& rate = want["token_rate_at"][key];
      const Items expected = rate.is_string() ? Items{} : Items{{"llm-0", rate.get<double>()}};
      EXPECT_EQ(rig.items("inference_generation_tokens_per_second"), expected);
    }
  }
}

// TGI's names, as the case has them: another engine is another YAML file and nothing else.
std::vector<EngineProfile> tgi() {
  return {
      parse_engine_profile(
          "tgi.yaml",
          "schema: 1\nengine: tgi\ndetect: {rank: 1, prefixes: [tgi_]}\nroles:\n"
          "  running: [{sample: tgi_batch_current_size}]\n  waiting: [{sample: tgi_queue_size}]\n")
          .value()};
}

TEST(Collector, B44AnOverloadedPodThatLostItsReadinessStaysIn) {
  const auto input = field_case("B44-not-ready.json");
  const auto want = field_case("B44-not-ready.expected.json");
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted ? "after our restart" : "seen before");
    Rig rig({}, tgi());
    std::vector<kube::Pod> before, now;
    for (const auto& given : input["pods"]) {
      before.push_back(engine_pod(given["name"], given["name"]));
      before.back().ready = given["was_ready_before"];
      now.push_back(before.back());
      now.back().ready = given["ready"];
    }
    if (!restarted) rig.pods(before);
    rig.pods(now);
    EXPECT_EQ(rig.targets.size(), 3u) << "a pod that is not Ready is scraped";
    for (const auto& given : input["pods"]) {
      if (given["page"] == "connection refused") {
        rig.failed(given["name"], ScrapeFailure::kConnect, given["page"]);
      } else {
        rig.page(given["name"], given["page"]);
      }
    }
    EXPECT_EQ(rig.items("inference_requests_in_flight"), items_of(want["demand_items"]));
    EXPECT_EQ(rig.reading("c").left_out, LeftOut::kNeverReady);
  }
}

TEST(Collector, APodThatStartsUnderOurEyesCountsOnlyOnceReady) {
  Rig rig;
  rig.pods({});
  kube::Pod pod = engine_pod("a", "u");
  pod.ready = false;
  rig.pods({pod});
  rig.page("u", running(3));  // a warm-up of its own
  EXPECT_EQ(rig.items("inference_requests_running"), Items{});
  EXPECT_EQ(rig.reading("a").left_out, LeftOut::kNeverReady);
  pod.ready = true;
  rig.pods({pod});
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"a", 3}}));
}

TEST(Collector, B67ARestartedEngineNeverShowsASpikeOrANegativeRate) {
  const auto input = field_case("B67-counter-reset.json");
  Rig rig(every(10));
  rig.pods({engine_pod("a", "u")});
  for (const auto& sample : input["samples"]) {
    rig.clock.set(sample[0]);
    Page page;
    page.samples["num_requests_running"] = 1;
    page.samples["request_success_total{finished_reason=\"stop\"}"] = sample[1];
    std::string text =
        "vllm:num_requests_running 1\nvllm:request_success_total{finished_reason=\"stop\"} " +
        std::to_string(sample[1].get<int>()) + "\n";
    rig.page("u", text);
    const Items rates = rig.items("inference_completions_per_second");
    if (sample[0] == 0) {
      EXPECT_EQ(rates, Items{}) << "two samples make a rate";
      continue;
    }
    ASSERT_EQ(rates.size(), 1u);
    EXPECT_DOUBLE_EQ(rates.at("a"), sample[0] == 50 ? 2.5 : 5);
  }
}

TEST(Collector, AFailedScrapeCostsNothingWhileTheLastReadingIsFresh) {
  Rig rig;
  rig.pods({engine_pod("a", "u")});
  rig.page("u", running(3));
  rig.clock.set(5);
  rig.failed("u", ScrapeFailure::kTimeout, "no answer in 4 s");
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"a", 3}}));
  rig.clock.set(14.9);
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"a", 3}}));
  rig.clock.set(15);
  EXPECT_EQ(rig.items("inference_requests_running"), Items{}) << "stale by the clock alone";
  rig.failed("u", ScrapeFailure::kTimeout, "no answer in 4 s");
  EXPECT_EQ(rig.reading("a").left_out, LeftOut::kScrapeFailed);
  EXPECT_EQ(rig.reading("a").detail, "timeout: no answer in 4 s");
  rig.clock.set(20);
  rig.page("u", running(4));
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"a", 4}}));
}

TEST(Collector, AGapBetweenScrapesIsNoDipAndNoSpike) {
  Rig rig;
  rig.pods({engine_pod("a", "u")});
  const auto tokens = [&](double t) {
    rig.clock.set(t);
    rig.page("u", Page{{{"generation_tokens_total", 1000 + 20 * t}}}.text());
    return rig.items("inference_generation_tokens_per_second");
  };
  tokens(0);
  EXPECT_EQ(tokens(5), (Items{{"a", 20}}));
  EXPECT_EQ(tokens(100), (Items{{"a", 20}}));
  const auto answer = rig.ask("inference_generation_tokens_per_second");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->at(0).value.window, std::chrono::seconds(95));
  EXPECT_EQ(answer->at(0).value.timestamp, rig.clock.wall_now());
}

TEST(Collector, AnUnknownPageIsLeftOutAtOnce) {
  Rig rig;
  rig.pods({engine_pod("a", "u")});
  rig.page("u", running(3));
  rig.clock.set(5);
  rig.page("u", "up 1\n");
  EXPECT_EQ(rig.items("inference_requests_running"), Items{});
  EXPECT_EQ(rig.reading("a").left_out, LeftOut::kUnknownEngine);
  EXPECT_EQ(rig.reading("a").engine, "");
}

TEST(Collector, InFlightNeedsBothGauges) {
  Rig rig;
  rig.pods({engine_pod("a", "u")});
  rig.page("u", running(3));
  EXPECT_EQ(rig.items("inference_requests_in_flight"), Items{});
  rig.clock.set(5);
  rig.page("u", "vllm:num_requests_running 3\nvllm:num_requests_waiting 0\n");
  EXPECT_EQ(rig.items("inference_requests_in_flight"), (Items{{"a", 3}}));
  EXPECT_EQ(rig.items("inference_requests_waiting"), (Items{{"a", 0}}));
  rig.clock.set(10);
  rig.page("u", "vllm:num_requests_running 3\nvllm:num_requests_waiting NaN\n");
  EXPECT_EQ(rig.items("inference_requests_in_flight"), Items{});
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"a", 3}}));
}

// Two engines with 2 and 400 requests/s, of which the first restarts at t = restart_at (0: never):
// the sum of both grows all the same.
void run_two_engines(Rig& rig, int restart_at) {
  for (int t = 0; t <= 60; t += 5) {
    rig.clock.set(t);
    const int first = restart_at == 0 || t < restart_at ? 1000 + 2 * t : 2 * (t - restart_at);
    rig.page("u",
             "vllm:num_requests_running 4\n"
             "vllm:request_success_total{engine=\"0\",finished_reason=\"stop\"} " +
                 std::to_string(first) +
                 "\nvllm:request_success_total{engine=\"1\",finished_reason=\"stop\"} " +
                 std::to_string(400 * t) + "\n");
  }
}

TEST(Collector, CapacityComesWithTheEstimatorAndARestartOfOneEngineDoesNotShow) {
  Rig rig;
  rig.pods({engine_pod("a", "u")});
  rig.page("u", running(1));
  EXPECT_EQ(rig.items("inference_capacity"), Items{});
  Rig steady, restarted;
  steady.pods({engine_pod("a", "u")});
  restarted.pods({engine_pod("a", "u")});
  run_two_engines(steady, 0);
  run_two_engines(restarted, 40);
  ASSERT_EQ(steady.items("inference_capacity").size(), 1u);
  EXPECT_DOUBLE_EQ(steady.items("inference_capacity")["a"], 402);
  EXPECT_DOUBLE_EQ(restarted.items("inference_capacity")["a"], 402);
  EXPECT_DOUBLE_EQ(restarted.items("inference_completions_per_second")["a"], 402);
  EXPECT_DOUBLE_EQ(steady.items("inference_capacity_messages")["a"], 402);
  EXPECT_EQ(steady.ask("inference_capacity")->at(0).value.window, std::chrono::seconds(60));
}

TEST(Collector, TargetsAreToldWhenTheyChangeAndOnlyThen) {
  Rig rig;
  kube::Pod pod = engine_pod("a", "u");
  rig.pods({pod});
  EXPECT_EQ(rig.target_changes, 1);
  ASSERT_EQ(rig.targets.size(), 1u);
  EXPECT_EQ(rig.targets[0].id, "u");
  pod.resource_version = "2";
  pod.ready = false;
  rig.pods({pod});
  EXPECT_EQ(rig.target_changes, 1);
  pod.pod_ip = "10.0.0.9";
  rig.pods({pod});
  EXPECT_EQ(rig.target_changes, 2);
  rig.pods({});
  EXPECT_EQ(rig.target_changes, 3);
  EXPECT_TRUE(rig.targets.empty());
}

TEST(Collector, TheFirstRoundEndsWhenEveryTargetWasTriedOrIsGone) {
  Rig rig;
  rig.pods({}, false);
  EXPECT_FALSE(rig.view.get()->pods_synced);
  EXPECT_FALSE(rig.view.get()->first_scrapes_done);
  rig.pods({engine_pod("a", "ua"), engine_pod("b", "ub"), engine_pod("c", "uc")});
  EXPECT_TRUE(rig.view.get()->pods_synced);
  EXPECT_FALSE(rig.view.get()->first_scrapes_done);
  rig.page("ua", running(1));
  rig.failed("ub", ScrapeFailure::kConnect, "refused");
  EXPECT_FALSE(rig.view.get()->first_scrapes_done);
  rig.pods({engine_pod("a", "ua"), engine_pod("b", "ub"), engine_pod("d", "ud")});
  EXPECT_TRUE(rig.view.get()->first_scrapes_done) << "later pods do not count";
  Rig empty;
  empty.pods({});
  EXPECT_TRUE(empty.view.get()->first_scrapes_done);
}

TEST(Collector, BurstsArePublishedTogetherButADeletionAtOnce) {
  CollectorConfig config;
  config.publish_every = std::chrono::milliseconds(100);
  Rig rig(config);
  rig.pods({engine_pod("a", "ua"), engine_pod("b", "ub")});
  rig.page("ua", running(1));
  EXPECT_EQ(rig.items("inference_requests_running"), Items{});
  rig.clock.set(0.1);
  rig.page("ub", running(2));
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"a", 1}, {"b", 2}}));
  rig.clock.set(0.15);
  rig.page("ua", running(3));
  EXPECT_EQ(rig.items("inference_requests_running").at("a"), 1);
  rig.collector().flush();
  EXPECT_EQ(rig.items("inference_requests_running").at("a"), 3);
  const auto generation = rig.view.get()->generation;
  rig.collector().flush();
  EXPECT_EQ(rig.view.get()->generation, generation) << "nothing waits";
  rig.pods({engine_pod("b", "ub")});
  EXPECT_EQ(rig.items("inference_requests_running"), (Items{{"b", 2}}));
}

TEST(Collector, ALateAnswerOfADrainingPodChangesNothing) {
  Rig rig;
  kube::Pod pod = engine_pod("a", "u");
  rig.pods({pod});
  rig.page("u", running(2));
  pod.deletion_timestamp = rig.clock.wall_now();
  rig.pods({pod});
  rig.clock.set(5);
  rig.page("u", running(1));
  EXPECT_EQ(rig.items("inference_requests_running"), Items{});
  EXPECT_EQ(rig.reading("a").signals.running, 2);
}

}  // namespace
}  // namespace loadline::provider
