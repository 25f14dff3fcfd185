#include "provider/discovery.h"

#include "scrape/wanted_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

namespace loadline::provider {
namespace {

using kube::Pod;

constexpr std::string_view kScrape = "prometheus.io/scrape";
constexpr std::string_view kPort = "prometheus.io/port";
constexpr std::string_view kPath = "prometheus.io/path";
constexpr std::string_view kScheme = "prometheus.io/scheme";
constexpr std::size_t kMostPathBytes = 1024;

struct ServingLabel {
  std::string_view key, value;  // value empty: any
};
constexpr ServingLabel kServingLabels[] = {
    {"ome.io/inferenceservice", ""},                    // OME
    {"serving.kserve.io/inferenceservice", ""},         // KServe InferenceService
    {"kserve.io/component", "workload"},                // KServe LLMInferenceService
    {"app.kubernetes.io/component", "serving-engine"},  // vLLM production-stack
    {"llm-d.ai/inference-serving", "true"},             // llm-d
    {"llm-d.ai/inferenceServing", "true"},              //   before it was renamed
    {"llm-d.ai/engine-type", ""},                       //   the router's
    {"inference.networking.k8s.io/engine-type", ""},    // Gateway API inference pools
};

constexpr std::string_view kPortNames[] = {"metrics", "http-metrics", "prometheus", "http",
                                           "http1",   "user-port",    "api"};
constexpr std::string_view kSidecars[] = {"istio-proxy", "linkerd-proxy", "queue-proxy",
                                          "kube-rbac-proxy"};

// OME's own annotation rewrites prometheus.io/port to a port of Knative's, where no container of an
// OME pod listens.
constexpr std::string_view kOmeRewritesPort = "ome.io/enable-prometheus-scraping";
constexpr std::uint16_t kOmeRewrittenPorts[] = {9088, 9091};

template <class List, class T>
bool contains(const List& list, const T& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

std::string_view value_of(const kube::Labels& map, std::string_view key) {
  const auto it = map.find(key);
  return it == map.end() ? std::string_view{} : std::string_view(it->second);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

bool is_ip_literal(const std::string& host) {
  std::array<unsigned char, 16> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

bool is_path(std::string_view path) {
  return !path.empty() && path.size() <= kMostPathBytes && path.front() == '/' &&
         std::all_of(path.begin(), path.end(),
                     [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
}

// What a person may have written, cut for a message.
std::string shown(std::string_view text) { return fmt::format("\"{:.64}\"", text); }

// Why the pod is asked; empty: nobody asks.
std::string asked_by(const Pod& pod) {
  const std::string_view scrape = value_of(pod.annotations, kScrape);
  if (scrape == "true") return fmt::format("annotation {}", kScrape);
  if (!scrape.empty()) return {};
  for (const auto& [key, value] : kServingLabels) {
    const auto it = pod.labels.find(key);
    if (it != pod.labels.end() && (value.empty() || it->second == value))
      return fmt::format("label {}", key);
  }
  return {};
}

struct FoundPort {
  std::uint16_t number = 0;  // 0: none
  std::string how;           // or why there is none
  std::string path = "/metrics";
};

// The declared ports of containers that may be an engine, each number once.
std::vector<kube::ContainerPort> engine_candidates(const Pod& pod) {
  std::vector<kube::ContainerPort> ports;
  std::copy_if(
      pod.ports.begin(), pod.ports.end(), std::back_inserter(ports),
      [](const kube::ContainerPort& port) { return !contains(kSidecars, port.container); });
  return ports;
}

// The number of the ports with this name; 0 where there is none, or where there are several.
std::uint16_t named(const std::vector<kube::ContainerPort>& ports, std::string_view name) {
  std::set<std::uint16_t> numbers;
  for (const auto& port : ports) {
    if (port.name == name) numbers.insert(port.number);
  }
  return numbers.size() == 1 ? *numbers.begin() : std::uint16_t{0};
}

FoundPort configured_port(const Pod& pod, const std::string& wanted) {
  if (const auto number = parse_port(wanted)) return {*number, "configured port"};
  if (const auto number = named(pod.ports, wanted))
    return {number, fmt::format("container port {}", wanted)};
  return {
      0, fmt::format("port_not_found: no container declares one TCP port named {}", shown(wanted))};
}

FoundPort declared_port(const Pod& pod, const DiscoveryConfig& config) {
  const auto ports = engine_candidates(pod);
  for (const std::string_view name : kPortNames) {
    if (const auto number = named(ports, name))
      return {number, fmt::format("container port {}", name)};
  }
  std::set<std::uint16_t> numbers;
  for (const auto& port : ports) numbers.insert(port.number);
  for (const EnginePage& page : config.engine_pages) {
    if (numbers.contains(page.port)) return {page.port, "declared engine port", page.path};
  }
  if (numbers.size() == 1) return {*numbers.begin(), "the only declared port"};
  return {0, fmt::format("port_not_found: {} declared TCP ports and none stands out; name one "
                         "\"metrics\" or set the "
                         "annotation {}",
                         numbers.size(), kPort)};
}

FoundPort find_port(const Pod& pod, const DiscoveryConfig& config) {
  if (!config.port.empty()) return configured_port(pod, config.port);
  const auto annotation = pod.annotations.find(kPort);
  if (annotation == pod.annotations.end()) return declared_port(pod, config);
  const auto number = parse_port(annotation->second);
  if (!number) {
    return {0, fmt::format("port_not_found: annotation {} is {}, not a port", kPort,
                           shown(annotation->second))};
  }
  const bool declared =
      std::any_of(pod.ports.begin(), pod.ports.end(),
                  [&](const kube::ContainerPort& port) { return port.number == *number; });
  if (!declared && value_of(pod.annotations, kOmeRewritesPort) == "true" &&
      contains(kOmeRewrittenPorts, *number)) {
    return declared_port(pod, config);
  }
  return {*number, fmt::format("annotation {}", kPort)};
}

Discovered without_target(LeftOut reason, std::string detail, bool asked_for = false) {
  return {std::nullopt, reason, std::move(detail), asked_for};
}

std::string_view phase_name(kube::PodPhase phase) {
  switch (phase) {
    case kube::PodPhase::kPending:
      return "Pending";
    case kube::PodPhase::kRunning:
      return "Running";
    case kube::PodPhase::kSucceeded:
      return "Succeeded";
    case kube::PodPhase::kFailed:
      return "Failed";
    case kube::PodPhase::kUnknown:
      break;
  }
  return "Unknown";
}

}  // namespace

DiscoveryConfig discovery_config(const std::vector<EngineProfile>& profiles) {
  DiscoveryConfig config;
  for (const auto& profile : profiles) {
    for (const auto port : profile.ports) config.engine_pages.push_back({port, profile.path});
  }
  config.wanted = std::make_shared<const scrape::WantedNames>(wanted_sample_names(profiles));
  return config;
}

Discovered discover(const Pod& pod, const DiscoveryConfig& config) {
  if (pod.phase != kube::PodPhase::kRunning) {
    return without_target(LeftOut::kNotRunning, fmt::format("phase {}", phase_name(pod.phase)));
  }
  if (pod.deletion_timestamp) return without_target(LeftOut::kTerminating, "is being deleted");
  const std::string asked = asked_by(pod);
  if (asked.empty()) {
    return without_target(LeftOut::kNoTarget,
                          fmt::format("not asked for: neither annotation {}: \"true\" nor a label "
                                      "of a serving system",
                                      kScrape));
  }
  if (!is_ip_literal(pod.pod_ip)) return without_target(LeftOut::kNoTarget, "has no address yet");
  const std::string_view scheme = value_of(pod.annotations, kScheme);
  if (!scheme.empty() && scheme != "http") {
    return without_target(
        LeftOut::kNoTarget,
        fmt::format("annotation {} is {}: only http is supported", kScheme, shown(scheme)), true);
  }
  const auto path = pod.annotations.find(kPath);
  if (path != pod.annotations.end() && !is_path(path->second)) {
    return without_target(
        LeftOut::kNoTarget,
        fmt::format("annotation {} is {}: must begin with / and have neither blanks nor controls",
                    kPath, shown(path->second)),
        true);
  }
  const FoundPort port = find_port(pod, config);
  if (port.number == 0) return without_target(LeftOut::kNoTarget, port.how, true);

  Discovered found;
  found.asked_for = true;
  found.detail = fmt::format("{}, port {}: {}", asked, port.number, port.how);
  scrape::Target& target = found.target.emplace();
  target.id = pod.uid;
  target.name = kube::pod_ref(pod);
  target.host = pod.pod_ip;
  target.port = port.number;
  target.path = path == pod.annotations.end() ? port.path : path->second;
  target.wanted = config.wanted;
  target.interval = config.interval;
  target.timeout = std::min(config.timeout, config.interval);
  target.body_bytes = config.body_bytes;
  return found;
}

}  // namespace loadline::provider
