// The bearer token we show to the Kubernetes API: fixed, or in a file that is replaced now and then
// (service account tokens live for about an hour). Loop-bound. Never logged.
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <optional>
#include <string>

namespace loadline::kube {

// The token in the file, blanks at its ends cut off. Errors name the file: unreadable, empty, or no
// token at all.
Result<std::string> read_token_file(const std::string& path);

// Visible ASCII, 64 KiB at most: what can stand in a header.
bool is_token(const std::string& text);

class BearerToken {
 public:
  // A file wins over a fixed token; with neither, get() is empty. The clock must outlive the
  // object.
  BearerToken(const Clock& clock, std::string token, std::string file);

  // The token to send now; the file is read anew when the last reading is 10 s old. While the file
  // cannot be read, the last good token goes on.
  Result<std::string> get();

  // The API refused this token (401): reads the file at once. True when there is another token to
  // try.
  bool replaced(const std::string& refused);

 private:
  Status reload();

  const Clock& clock_;
  std::string token_, file_;
  std::optional<SteadyTime> read_at_;
};

}  // namespace loadline::kube
