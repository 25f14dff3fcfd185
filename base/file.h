// Reading whole small files (configuration, certificates, tokens) with a bound on their size.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <string>

namespace loadline {

// The file's bytes. Errors name the path: kNotFound, kForbidden, kTooLarge (over most_bytes),
// kInternal.
Result<std::string> read_file(const std::string& path, std::size_t most_bytes = 16u << 20);

// Replaces the file in one step (written beside it, then renamed), mode 0600 where secret.
Status write_file(const std::string& path, const std::string& bytes, bool secret = false);

}  // namespace loadline
