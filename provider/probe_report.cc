#include "provider/probe_report.h"

#include "provider/role.h"
#include "provider/signals.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>

namespace loadline::provider {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kMaxSampleAge{15};  // as the server has it at its default interval

Json number(const std::optional<double>& value) {
  if (!value) return nullptr;
  // Counts look like counts: 37, not 37.0.
  if (*value == std::floor(*value) && std::abs(*value) < 9e15)
    return static_cast<std::int64_t>(*value);
  return *value;
}

}  // namespace

Result<ProbeReport> make_probe_report(const std::vector<EngineProfile>& profiles,
                                      const scrape::ScrapeResult& page,
                                      const scrape::WantedNames& wanted) {
  if (page.failure != scrape::ScrapeFailure::kNone) {
    return Error(Code::kUnavailable,
                 fmt::format("{}: {}", scrape::to_string(page.failure), page.message));
  }
  ProbeReport report;
  const EngineProfile* profile = detect(profiles, page, wanted);
  if (profile == nullptr) {
    for (std::size_t i = 0; i < kRoles; ++i)
      report.missing.emplace_back(to_string(static_cast<Role>(i)));
    report.warnings.push_back(fmt::format(
        "no sample of an engine that has a profile among {} on the page", page.samples_on_page));
    return report;
  }
  PageSignals read = fold(*profile, page, wanted, kMaxSampleAge);
  report.engine = std::move(read.engine);
  report.model = std::move(read.model);
  report.signals = read.signals;
  report.missing = std::move(read.missing);
  report.warnings = std::move(read.warnings);
  return report;
}

std::string to_json(const ProbeReport& report) {
  Json json;
  json["engine"] = report.engine ? Json(*report.engine) : Json(nullptr);
  json["model"] = report.model;
  json["signals"] = Json::object();
  for (std::size_t i = 0; i < kRoles; ++i) {
    const auto role = static_cast<Role>(i);
    json["signals"][std::string(to_string(role))] = number(signal(report.signals, role));
  }
  json["missing"] = report.missing;
  json["warnings"] = report.warnings;
  // A page's bytes are the page's: what is no UTF-8 becomes U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace loadline::provider
