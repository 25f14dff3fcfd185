// `loadline probe`: one metrics page, from an engine or a file: which engine, which signals, what
// is missing.
#pragma once

#include "base/result.h"
#include "cmd/options.h"

#include <ostream>

namespace loadline::cmd {

Status probe(const ProbeOptions& options, std::ostream& out);

}  // namespace loadline::cmd
