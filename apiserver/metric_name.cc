#include "apiserver/metric_name.h"

#include <fmt/format.h>

namespace loadline::apiserver {
namespace {

Error refused(std::string_view name, std::string_view why) {
  return Error(Code::kBadRequest, fmt::format("invalid metric name \"{}\": [{}]", name, why));
}

}  // namespace

Status check_metric_name(std::string_view name) {
  if (name.empty()) return refused(name, "may not be empty");
  if (name == "." || name == "..") return refused(name, fmt::format("may not be '{}'", name));
  for (const char c : name) {
    if (c == '/' || c == '%') return refused(name, fmt::format("may not contain '{}'", c));
  }
  return {};
}

Status check_advertised_metric_name(std::string_view name) {
  if (name == "*") return refused(name, "is the wildcard of object names");
  return check_metric_name(name);
}

}  // namespace loadline::apiserver
