// `loadline demo`: the main job on an embedded default. Simulated engines under a load that rises
// and falls, the real server on a file that lists them, a live table, and the question that an HPA
// would ask.
#pragma once

#include "base/result.h"
#include "cmd/options.h"

#include <ostream>

namespace loadline::cmd {

// Until the duration is over, or SIGINT or SIGTERM. Fails too where the server does not answer as
// an HPA needs it.
Status demo(const DemoOptions& options, std::ostream& out);

}  // namespace loadline::cmd
