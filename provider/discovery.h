// Which pods are engines, and where their pages are. Pure: same pod, same answer. Never guesses a
// port (field case B57).
//
// A pod is asked for its page when it carries prometheus.io/scrape: "true" or a label of a serving
// system (and not prometheus.io/scrape: "false"), runs, is not being deleted and has an address.
// Readiness plays no part here: an overloaded pod fails its readiness exactly when its numbers
// count most (field case B44).
#pragma once

#include "kube/pod.h"
#include "provider/engine_profile.h"
#include "provider/reading.h"
#include "scrape/target.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loadline::provider {

// Where an engine serves its page by default.
struct EnginePage {
  std::uint16_t port = 0;
  std::string path;
};

struct DiscoveryConfig {
  // Of every pod: empty is automatic (below), else a container port's name, or a number that need
  // not be declared.
  std::string port;
  std::vector<EnginePage> engine_pages;  // in order of preference
  std::shared_ptr<const scrape::WantedNames> wanted;
  std::chrono::milliseconds interval{5'000};
  std::chrono::milliseconds timeout{4'000};
  std::size_t body_bytes = 16u << 20;
};

// engine_pages and wanted as the profiles have them.
DiscoveryConfig discovery_config(const std::vector<EngineProfile>& profiles);

struct Discovered {
  std::optional<scrape::Target> target;
  LeftOut left_out =
      LeftOut::kNot;   // where there is no target: kNotRunning, kTerminating or kNoTarget
  std::string detail;  // how the port was found, or what to do that there is one
  bool asked_for =
      false;  // annotation or label asks for a scrape: to have no target is worth a log line
};

// The port: config.port; else the annotation prometheus.io/port; else a container port named
// metrics, http-metrics, prometheus, http, http1, user-port or api; else a declared engine port;
// else the only declared one. The ports of well-known sidecars do not count. Two numbers where one
// was to be found are none.
Discovered discover(const kube::Pod& pod, const DiscoveryConfig& config);

}  // namespace loadline::provider
