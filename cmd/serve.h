// `loadline serve`: both loops, from start to a signal.
#pragma once

#include "base/result.h"
#include "cmd/options.h"

namespace loadline::cmd {

// Runs until SIGTERM or SIGINT. An error is one of the start: nothing was begun.
Status serve(const ServeOptions& options);

}  // namespace loadline::cmd
