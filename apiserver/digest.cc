#include "apiserver/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <stdexcept>

namespace loadline::apiserver {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string to_string(const Digest& digest, unsigned length) {
  return std::string(digest.begin(), digest.begin() + length);
}

}  // namespace

std::string sha256(std::string_view data) {
  Digest digest{};
  unsigned length = 0;
  if (EVP_Digest(data.data(), data.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not available in OpenSSL");
  }
  return to_string(digest, length);
}

std::string hmac_sha256(std::string_view key, std::string_view data) {
  Digest digest{};
  unsigned length = 0;
  // OpenSSL takes bytes as unsigned; a copy avoids a reinterpret_cast and costs nothing at this
  // size.
  const std::basic_string<unsigned char> bytes(data.begin(), data.end());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(),
           digest.data(), &length) == nullptr) {
    throw std::runtime_error("HMAC-SHA-256 is not available in OpenSSL");
  }
  return to_string(digest, length);
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string random_bytes(std::size_t count) {
  std::basic_string<unsigned char> bytes(count, 0);
  if (RAND_bytes(bytes.data(), static_cast<int>(count)) != 1) {
    throw std::runtime_error("the system gives no random bytes");
  }
  return std::string(bytes.begin(), bytes.end());
}

std::string new_uuid() {
  std::string bytes = random_bytes(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3F) | 0x80);
  std::string uuid = to_hex(bytes);
  for (const std::size_t at : {8u, 13u, 18u, 23u}) uuid.insert(at, 1, '-');
  return uuid;
}

}  // namespace loadline::apiserver
