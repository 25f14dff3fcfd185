#include "provider/discovery.h"

#include "kube/pod_decode.h"
#include "tests/unit/provider/provider_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::provider {
namespace {

using testing::HasSubstr;

const DiscoveryConfig& config() {
  static const DiscoveryConfig kConfig = discovery_config(built_in_profiles());
  return kConfig;
}

// A pod that runs, asked for by annotation, without any port.
kube::Pod bare_pod() {
  kube::Pod pod = engine_pod("p", "u");
  pod.annotations.erase("prometheus.io/port");
  return pod;
}

std::uint16_t port_of(const kube::Pod& pod) {
  const auto found = discover(pod, config());
  return found.target ? found.target->port : std::uint16_t{0};
}

std::string why_none(const kube::Pod& pod) {
  const auto found = discover(pod, config());
  EXPECT_FALSE(found.target.has_value());
  EXPECT_EQ(found.left_out, LeftOut::kNoTarget);
  return found.detail;
}

TEST(Discovery, B57OneTargetAPodAndNeverAGuessedPort) {
  const auto input = nlohmann::json::parse(testdata("field-cases/B57-multi-port-pod.json"));
  const auto want = nlohmann::json::parse(testdata("field-cases/B57-multi-port-pod.expected.json"));
  const nlohmann::json list = {
      {"kind", "PodList"}, {"apiVersion", "v1"}, {"items", {input["pod"]}}};
  const auto pods = kube::decode_pod_list(list.dump(), kube::Encoding::kJson);
  ASSERT_TRUE(pods.has_value()) << pods.error().message;
  ASSERT_EQ(pods->pods.size(), 1u);
  for (const auto& configuration : input["configurations"]) {
    const std::string id = configuration["id"];
    SCOPED_TRACE(id);
    DiscoveryConfig one = config();
    one.port = configuration["port"].is_number() ? std::to_string(configuration["port"].get<int>())
                                                 : configuration["port"].get<std::string>();
    if (one.port == "annotation") one.port.clear();
    const auto found = discover(*pods->pods[0], one);
    const auto& targets = want["targets"][id];
    ASSERT_EQ(found.target.has_value(), targets.size() == 1);
    if (found.target) {
      EXPECT_EQ("http://" + found.target->host + ":" + std::to_string(found.target->port) +
                    found.target->path,
                targets[0].get<std::string>());
    } else {
      EXPECT_THAT(found.detail, HasSubstr("port_not_found"));
      EXPECT_THAT(found.detail, HasSubstr("\"web\""));
      EXPECT_TRUE(found.asked_for);
    }
  }
}

TEST(Discovery, TheTargetIsThePodsOwnAddressAndItsUidIsTheId) {
  kube::Pod pod = engine_pod("p", "uid-1");
  pod.annotations["prometheus.io/path"] = "/custom?x=1";
  pod.pod_ip = "fd00::7";
  DiscoveryConfig slow = config();
  slow.interval = std::chrono::milliseconds(1'000);
  const auto found = discover(pod, slow);
  ASSERT_TRUE(found.target.has_value()) << found.detail;
  EXPECT_EQ(found.target->id, "uid-1");
  EXPECT_EQ(found.target->name, "ns1/p");
  EXPECT_EQ(found.target->host, "fd00::7");
  EXPECT_EQ(found.target->port, 8000);
  EXPECT_EQ(found.target->path, "/custom?x=1");
  EXPECT_EQ(found.target->wanted, config().wanted);
  EXPECT_EQ(found.target->timeout, slow.interval) << "at most the interval";
  EXPECT_THAT(found.detail, HasSubstr("annotation prometheus.io/port"));
}

TEST(Discovery, OnlyRunningPodsThatStayHaveTargets) {
  const auto left_out = [](kube::PodPhase phase, bool deleted) {
    kube::Pod pod = engine_pod("p", "u");
    pod.phase = phase;
    if (deleted) pod.deletion_timestamp = WallTime{};
    const auto found = discover(pod, config());
    EXPECT_EQ(found.target.has_value(), found.left_out == LeftOut::kNot);
    return found.left_out;
  };
  EXPECT_EQ(left_out(kube::PodPhase::kRunning, false), LeftOut::kNot);
  EXPECT_EQ(left_out(kube::PodPhase::kRunning, true), LeftOut::kTerminating);
  EXPECT_EQ(left_out(kube::PodPhase::kPending, false), LeftOut::kNotRunning);
  EXPECT_EQ(left_out(kube::PodPhase::kFailed, false), LeftOut::kNotRunning);
  EXPECT_EQ(left_out(kube::PodPhase::kSucceeded, true), LeftOut::kNotRunning);
  EXPECT_EQ(left_out(kube::PodPhase::kUnknown, false), LeftOut::kNotRunning);
}

TEST(Discovery, ANotReadyPodIsAskedAllTheSame) {
  kube::Pod pod = engine_pod("p", "u");
  pod.ready = false;
  EXPECT_EQ(port_of(pod), 8000);
}

TEST(Discovery, AServingLabelAsksToo) {
  const auto f = [](const std::string& key, const std::string& value, bool want) {
    SCOPED_TRACE(key + "=" + value);
    kube::Pod pod = engine_pod("p", "u");
    pod.annotations.erase("prometheus.io/scrape");
    pod.labels = {{key, value}};
    EXPECT_EQ(discover(pod, config()).target.has_value(), want);
    pod.annotations["prometheus.io/scrape"] = "false";
    EXPECT_FALSE(discover(pod, config()).target.has_value()) << "an annotation that says no wins";
  };
  f("ome.io/inferenceservice", "chat", true);
  f("serving.kserve.io/inferenceservice", "chat", true);
  f("kserve.io/component", "workload", true);
  f("kserve.io/component", "router", false);
  f("app.kubernetes.io/component", "serving-engine", true);
  f("app.kubernetes.io/component", "database", false);
  f("llm-d.ai/inference-serving", "true", true);
  f("llm-d.ai/inferenceServing", "true", true);
  f("llm-d.ai/inferenceServing", "false", false);
  f("llm-d.ai/engine-type", "vllm", true);
  f("inference.networking.k8s.io/engine-type", "sglang", true);
  f("app", "llm", false);
}

TEST(Discovery, NobodyAskedIsNoTargetAndNoCauseForALogLine) {
  kube::Pod pod = engine_pod("p", "u");
  pod.annotations.clear();
  const auto found = discover(pod, config());
  EXPECT_EQ(found.left_out, LeftOut::kNoTarget);
  EXPECT_FALSE(found.asked_for);
  EXPECT_THAT(found.detail, HasSubstr("prometheus.io/scrape"));
}

TEST(Discovery, ThePortIsFoundByNameThenByEngineThenAlone) {
  kube::Pod pod = bare_pod();
  EXPECT_THAT(why_none(pod), HasSubstr("port_not_found"));
  pod.ports = {{"main", "", 7000}};
  EXPECT_EQ(port_of(pod), 7000) << "the only one";
  pod.ports.push_back({"main", "", 7001});
  EXPECT_THAT(why_none(pod), HasSubstr("2 declared TCP ports"));
  pod.ports.push_back({"main", "", 8000});
  EXPECT_EQ(port_of(pod), 8000) << "vLLM's";
  pod.ports.push_back({"main", "http", 7002});
  EXPECT_EQ(port_of(pod), 7002);
  pod.ports.push_back({"main", "metrics", 7003});
  EXPECT_EQ(port_of(pod), 7003);
  pod.annotations["prometheus.io/port"] = "9999";
  EXPECT_EQ(port_of(pod), 9999) << "an annotation need not be declared";
}

TEST(Discovery, OneNameForTwoPortsNamesNone) {
  kube::Pod pod = bare_pod();
  pod.ports = {{"a", "metrics", 7000}, {"b", "metrics", 7001}};
  EXPECT_EQ(port_of(pod), 0);
  pod.ports = {{"a", "metrics", 7000}, {"b", "metrics", 7000}};
  EXPECT_EQ(port_of(pod), 7000);
}

TEST(Discovery, ThePortsOfSidecarsDoNotCount) {
  kube::Pod pod = bare_pod();
  pod.ports = {{"istio-proxy", "http-envoy-prom", 15090}};
  EXPECT_EQ(port_of(pod), 0);
  pod.ports = {{"queue-proxy", "http-metrics", 9090}, {"kserve-container", "user-port", 8080}};
  EXPECT_EQ(port_of(pod), 8080);
}

TEST(Discovery, AnAnnotationThatIsNoPortIsNotReplacedByAGuess) {
  for (const std::string bad :
       {"", "0", "65536", "-1", "8000 ", "http", "8000,9000", "99999999999999999999"}) {
    SCOPED_TRACE(bad);
    kube::Pod pod = bare_pod();
    pod.annotations["prometheus.io/port"] = bad;
    pod.ports = {{"main", "metrics", 7000}};
    EXPECT_THAT(why_none(pod), HasSubstr("port_not_found"));
  }
}

TEST(Discovery, ThePortThatOmeRewritesIsPassedOver) {
  kube::Pod pod = bare_pod();
  pod.annotations["ome.io/enable-prometheus-scraping"] = "true";
  pod.annotations["prometheus.io/port"] = "9091";
  pod.ports = {{"ome-container", "http1", 8080}};
  EXPECT_EQ(port_of(pod), 8080);
  pod.ports.push_back({"ome-container", "", 9091});
  EXPECT_EQ(port_of(pod), 9091) << "declared: somebody listens";
}

TEST(Discovery, AnAnnotationCannotLeadTheScraperAway) {
  for (const std::string bad : {"", "metrics", "http://other/metrics", "/a b", "/a\r\nHost: other",
                                "/a\n", "/a#b", "/\xc3\xa9"}) {
    SCOPED_TRACE(bad);
    kube::Pod pod = engine_pod("p", "u");
    pod.annotations["prometheus.io/path"] = bad;
    EXPECT_THAT(why_none(pod), HasSubstr("prometheus.io/path"));
  }
  kube::Pod pod = engine_pod("p", "u");
  pod.annotations["prometheus.io/path"] = "/" + std::string(2000, 'a');
  EXPECT_LT(why_none(pod).size(), 300u);
  for (const std::string bad :
       {"", "localhost", "10.0.0.1:80", "[fd00::7]", "10.0.0", "evil.example"}) {
    SCOPED_TRACE(bad);
    pod = engine_pod("p", "u");
    pod.pod_ip = bad;
    EXPECT_THAT(why_none(pod), HasSubstr("address"));
  }
}

TEST(Discovery, HttpsIsRefusedWithItsReason) {
  kube::Pod pod = engine_pod("p", "u");
  pod.annotations["prometheus.io/scheme"] = "https";
  EXPECT_THAT(why_none(pod), HasSubstr("only http"));
  pod.annotations["prometheus.io/scheme"] = "http";
  EXPECT_EQ(port_of(pod), 8000);
}

TEST(Discovery, AnEnginesOwnPathGoesWithItsPort) {
  DiscoveryConfig other = config();
  other.engine_pages = {{9000, "/prometheus/metrics"}};
  kube::Pod pod = bare_pod();
  pod.ports = {{"main", "", 9000}, {"main", "", 9001}};
  const auto found = discover(pod, other);
  ASSERT_TRUE(found.target.has_value());
  EXPECT_EQ(found.target->path, "/prometheus/metrics");
}

}  // namespace
}  // namespace loadline::provider
