// The signals of an engine as a list, so that profiles, reports and folds can walk over them. Pure.
#pragma once

#include "estimator/engine_signals.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace loadline::provider {

// The signals of estimator::EngineSignals, in its order.
enum class Role : std::size_t {
  kCompletedTotal,
  kRunning,
  kWaiting,
  kPromptTokensTotal,
  kPromptTokensCachedTotal,
  kGenerationTokensTotal,
  kIterationsTotal,
  kIterationTokensTotal,
  kItlSecondsSum,
  kItlSecondsCount,
  kPreemptionsTotal,
  kKvUsage,
};
inline constexpr std::size_t kRoles = 12;

std::string_view to_string(Role role);  // "completed_total", …
std::optional<Role> role_named(std::string_view name);
// The field of the role.
std::optional<double>& signal(estimator::EngineSignals& signals, Role role);
const std::optional<double>& signal(const estimator::EngineSignals& signals, Role role);

}  // namespace loadline::provider
