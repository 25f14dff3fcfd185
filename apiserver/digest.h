// Digests and random bytes, so that OpenSSL stays in one file. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loadline::apiserver {

// 32 raw bytes.
std::string sha256(std::string_view data);
std::string hmac_sha256(std::string_view key, std::string_view data);

std::string to_hex(std::string_view bytes);

// From the system's generator; throws std::runtime_error when it has none to give.
std::string random_bytes(std::size_t count);

// A random UUID (version 4).
std::string new_uuid();

}  // namespace loadline::apiserver
