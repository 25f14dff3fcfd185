#include "apiserver/health.h"

#include "base/log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace loadline::apiserver {
namespace {

std::vector<HealthCheck> with_ping(std::vector<HealthCheck> checks) {
  checks.insert(checks.begin(), HealthCheck{"ping", [] { return Status(); }});
  return checks;
}

std::vector<std::string> excluded_names(const QueryParameters& query) {
  std::vector<std::string> names;
  for (const auto& [name, value] : query) {
    if (name == "exclude") names.push_back(value);
  }
  return names;
}

bool take(std::vector<std::string>& names, const std::string& name) {
  return std::erase(names, name) > 0;
}

}  // namespace

Health::Health(std::vector<HealthCheck> live, std::vector<HealthCheck> ready)
    : live_(with_ping(std::move(live))), ready_(with_ping(std::move(ready))) {}

bool Health::passes(std::string_view endpoint, const HealthCheck& check) {
  const Status status = check.check();
  bool& failing = failing_[std::string(endpoint) + '/' + check.name];
  if (!status && !failing) {
    log_warning("health check fails", kv("endpoint", endpoint), kv("check", check.name),
                kv("error", status.error().message));
  } else if (status && failing) {
    log_info("health check passes again", kv("endpoint", endpoint), kv("check", check.name));
  }
  failing = !status.has_value();
  return !failing;
}

std::optional<HealthAnswer> Health::answer(std::string_view endpoint, std::string_view check,
                                           const QueryParameters& query) {
  const std::vector<HealthCheck>& checks = endpoint == "readyz" ? ready_ : live_;
  if (!check.empty()) {
    const auto found = std::find_if(checks.begin(), checks.end(),
                                    [&](const HealthCheck& c) { return c.name == check; });
    if (found == checks.end()) return std::nullopt;
    if (passes(endpoint, *found)) return HealthAnswer{200, "ok"};
    return HealthAnswer{500, "internal server error: reason withheld\n"};
  }
  std::vector<std::string> excluded = excluded_names(query);
  std::string lines;
  bool all_pass = true;
  for (const HealthCheck& c : checks) {
    if (take(excluded, c.name)) {
      lines += fmt::format("[+]{} excluded: ok\n", c.name);
    } else if (passes(endpoint, c)) {
      lines += fmt::format("[+]{} ok\n", c.name);
    } else {
      lines += fmt::format("[-]{} failed: reason withheld\n", c.name);
      all_pass = false;
    }
  }
  if (!excluded.empty()) {
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n",
                         fmt::join(excluded, "\",\""));
  }
  if (!all_pass) return HealthAnswer{500, lines + fmt::format("{} check failed\n", endpoint)};
  if (find_parameter(query, "verbose") == nullptr) return HealthAnswer{200, "ok"};
  return HealthAnswer{200, lines + fmt::format("{} check passed\n", endpoint)};
}

}  // namespace loadline::apiserver
