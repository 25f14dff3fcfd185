// Errors as the Kubernetes Status object: the one place where a Code becomes an HTTP answer. The
// message is what the user of an HPA reads in its events. Pure.
#pragma once

#include "base/result.h"
#include "kube/reviews.h"

#include <optional>
#include <string>
#include <string_view>

namespace loadline::apiserver {

int http_status(Code code);
std::string_view status_reason(Code code);  // "NotFound", …; "" where Kubernetes has none

// Empty members are left out of the JSON; the object itself is there.
struct StatusDetails {
  std::string name, group, kind;
};

struct StatusAnswer {
  int http_status = 500;
  std::string_view reason;  // a literal
  std::string message;
  std::optional<StatusDetails> details;
};

StatusAnswer status_of(const Error& error);
StatusAnswer unauthorized_status();
// review_reason: what the authorizer said, may be empty.
StatusAnswer forbidden_status(const std::string& user, const kube::AccessAttributes& attributes,
                              const std::string& review_reason);
StatusAnswer method_not_allowed_status();
StatusAnswer resource_not_found_status();
StatusAnswer not_acceptable_status();
// For answers that never reached a handler: 400, 408, 413, 414, 431, 503 ….
StatusAnswer status_of_http(int http_status, const std::string& message);

// {"kind":"Status",…} with the members in the order of Go's encoder and a line end.
std::string status_json(const StatusAnswer& answer);

}  // namespace loadline::apiserver
