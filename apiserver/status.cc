#include "apiserver/status.h"

#include "apiserver/json_text.h"

#include <fmt/format.h>

namespace loadline::apiserver {
namespace {

// As Go's %q: what cannot be printed is escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string what_is_forbidden(const std::string& user, const kube::AccessAttributes& a) {
  if (!a.resource_request) {
    return fmt::format("User {} cannot {} path {}", quoted(user), a.verb, quoted(a.path));
  }
  const std::string resource =
      a.subresource.empty() ? a.resource : a.resource + '/' + a.subresource;
  const std::string where = a.namespace_name.empty()
                                ? std::string("at the cluster scope")
                                : "in the namespace " + quoted(a.namespace_name);
  return fmt::format("User {} cannot {} resource {} in API group {} {}", quoted(user), a.verb,
                     quoted(resource), quoted(a.group), where);
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (out.back() != '{') out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

std::string_view reason_of_http(int status) {
  switch (status) {
    case 400:
      return "BadRequest";
    case 405:
      return "MethodNotAllowed";
    case 408:
    case 504:
      return "Timeout";
    case 413:
      return "RequestEntityTooLarge";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    case 500:
      return "InternalError";
    default:
      return "";
  }
}

}  // namespace

int http_status(Code code) {
  switch (code) {
    case Code::kBadRequest:
      return 400;
    case Code::kUnauthorized:
      return 401;
    case Code::kForbidden:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kMethodNotAllowed:
      return 405;
    case Code::kNotAcceptable:
      return 406;
    case Code::kConflict:
      return 409;
    case Code::kExpired:
      return 410;
    case Code::kTooLarge:
      return 413;
    case Code::kTooManyRequests:
      return 429;
    case Code::kInternal:
      return 500;
    case Code::kUnavailable:
      return 503;
    case Code::kTimeout:
      return 504;
  }
  return 500;
}

std::string_view status_reason(Code code) {
  switch (code) {
    case Code::kUnauthorized:
      return "Unauthorized";
    case Code::kForbidden:
      return "Forbidden";
    case Code::kNotFound:
      return "NotFound";
    case Code::kNotAcceptable:
      return "NotAcceptable";
    case Code::kConflict:
      return "Conflict";
    case Code::kExpired:
      return "Expired";
    default:
      return reason_of_http(http_status(code));
  }
}

StatusAnswer status_of(const Error& error) {
  const std::string message =
      error.code == Code::kInternal ? "Internal error occurred: " + error.message : error.message;
  return {http_status(error.code), status_reason(error.code), message, std::nullopt};
}

StatusAnswer unauthorized_status() { return {401, "Unauthorized", "Unauthorized", std::nullopt}; }

StatusAnswer forbidden_status(const std::string& user, const kube::AccessAttributes& attributes,
                              const std::string& review_reason) {
  std::string what = html_escaped(what_is_forbidden(user, attributes));
  if (!review_reason.empty()) what += ": " + review_reason;
  StatusAnswer answer{403, "Forbidden", "", StatusDetails{}};
  if (!attributes.resource_request) {
    answer.message = "forbidden: " + what;
    return answer;
  }
  answer.details = StatusDetails{attributes.name, attributes.group, attributes.resource};
  const std::string resource =
      attributes.group.empty() ? attributes.resource : attributes.resource + '.' + attributes.group;
  answer.message = attributes.name.empty() ? fmt::format("{} is forbidden: {}", resource, what)
                                           : fmt::format("{} {} is forbidden: {}", resource,
                                                         quoted(attributes.name), what);
  return answer;
}

StatusAnswer method_not_allowed_status() {
  return {405, "MethodNotAllowed",
          "the server does not allow this method on the requested resource", StatusDetails{}};
}

StatusAnswer resource_not_found_status() {
  return {404, "NotFound", "the server could not find the requested resource", StatusDetails{}};
}

StatusAnswer not_acceptable_status() {
  return {406, "NotAcceptable", "only the following media types are accepted: application/json",
          std::nullopt};
}

StatusAnswer status_of_http(int http_status, const std::string& message) {
  return {http_status, reason_of_http(http_status), message, std::nullopt};
}

std::string status_json(const StatusAnswer& answer) {
  std::string out = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure")";
  append_member(out, "message", answer.message);
  append_member(out, "reason", answer.reason);
  if (answer.details) {
    out += R"(,"details":{)";
    append_member(out, "name", answer.details->name);
    append_member(out, "group", answer.details->group);
    append_member(out, "kind", answer.details->kind);
    out += '}';
  }
  out += fmt::format(",\"code\":{}}}\n", answer.http_status);
  return out;
}

}  // namespace loadline::apiserver
