// /healthz, /livez and /readyz: named checks, in the words that kubelets and people know from
// Kubernetes. Serving loop only. Reasons of failures go to the log, not to the answer: probes are
// open to everyone.
#pragma once

#include "apiserver/request_info.h"
#include "base/result.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::apiserver {

struct HealthCheck {
  std::string name;               // one path segment: "informer-sync"
  std::function<Status()> check;  // an error says why it fails; must not wait
};

struct HealthAnswer {
  int http_status = 200;
  std::string text;
};

class Health {
 public:
  // "ping" comes before the checks of both.
  Health(std::vector<HealthCheck> live, std::vector<HealthCheck> ready);

  // endpoint: "healthz" and "livez" (the live checks) or "readyz". check: one of them alone, empty
  // for all. Query: verbose, exclude. Nothing when there is no such check.
  std::optional<HealthAnswer> answer(std::string_view endpoint, std::string_view check,
                                     const QueryParameters& query);

 private:
  bool passes(std::string_view endpoint, const HealthCheck& check);

  std::vector<HealthCheck> live_, ready_;
  std::map<std::string, bool> failing_;  // by "endpoint/name": a change is logged once
};

}  // namespace loadline::apiserver
