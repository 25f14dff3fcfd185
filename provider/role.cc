#include "provider/role.h"

#include <array>

namespace loadline::provider {
namespace {

using estimator::EngineSignals;

struct RoleInfo {
  std::string_view name;
  std::optional<double> EngineSignals::*field;
};
constexpr std::array<RoleInfo, kRoles> kRoleTable{{
    {"completed_total", &EngineSignals::completed_total},
    {"running", &EngineSignals::running},
    {"waiting", &EngineSignals::waiting},
    {"prompt_tokens_total", &EngineSignals::prompt_tokens_total},
    {"prompt_tokens_cached_total", &EngineSignals::prompt_tokens_cached_total},
    {"generation_tokens_total", &EngineSignals::generation_tokens_total},
    {"iterations_total", &EngineSignals::iterations_total},
    {"iteration_tokens_total", &EngineSignals::iteration_tokens_total},
    {"itl_seconds_sum", &EngineSignals::itl_seconds_sum},
    {"itl_seconds_count", &EngineSignals::itl_seconds_count},
    {"preemptions_total", &EngineSignals::preemptions_total},
    {"kv_usage", &EngineSignals::kv_usage},
}};

}  // namespace

std::string_view to_string(Role role) { return kRoleTable.at(static_cast<std::size_t>(role)).name; }

std::optional<Role> role_named(std::string_view name) {
  for (std::size_t i = 0; i < kRoles; ++i) {
    if (kRoleTable[i].name == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

std::optional<double>& signal(EngineSignals& signals, Role role) {
  return signals.*kRoleTable.at(static_cast<std::size_t>(role)).field;
}

const std::optional<double>& signal(const EngineSignals& signals, Role role) {
  return signals.*kRoleTable.at(static_cast<std::size_t>(role)).field;
}

}  // namespace loadline::provider
