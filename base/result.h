// A value or an Error; discarding one is a compiler warning. Errors carry a Code that follows the
// reasons of the Kubernetes Status object, so that one function (apiserver/status.cc) maps them to
// HTTP.
#pragma once

#include <tl/expected.hpp>

#include <string>
#include <utility>

namespace loadline {

enum class Code {
  kBadRequest,        // 400
  kUnauthorized,      // 401
  kForbidden,         // 403
  kNotFound,          // 404
  kMethodNotAllowed,  // 405
  kNotAcceptable,     // 406
  kConflict,          // 409
  kExpired,           // 410: the resource version is too old; also reason Gone
  kTooLarge,          // 413
  kTooManyRequests,   // 429
  kInternal,          // 500
  kUnavailable,       // 503: cannot be reached, refused, reset
  kTimeout,           // 504: a deadline passed
};

// What went wrong, in words for a tired reader: name the thing and, where there is one, the cure.
struct Error {
  Error(Code c, std::string m) : code(c), message(std::move(m)) {}
  Code code;
  std::string message;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error)
      : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}  // NOLINT: by design
};

using Status = Result<void>;

// Adds context once, at the layer that knows the noun: "list pods: connection refused".
inline Error with_context(const std::string& context, Error error) {
  return Error(error.code, context + ": " + error.message);
}

}  // namespace loadline
