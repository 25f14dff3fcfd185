// YAML to JSON text, event by event: no tree is built, so that what comes in is bounded by its size
// alone. Pure.
#pragma once

#include "base/result.h"

#include <string>
#include <vector>

namespace loadline::kube {

// One JSON text per document; empty documents are left out. Plain scalars become null, booleans and
// numbers as in YAML 1.2's core schema; quoted ones stay strings. kBadRequest with line and cure:
// bad YAML, anchors or aliases, keys that are no scalars, control characters, more than 64 levels
// or 10,000 documents.
Result<std::vector<std::string>> yaml_to_json(const std::string& yaml);

}  // namespace loadline::kube
