#include "apiserver/request_info.h"

#include "apiserver/json_text.h"
#include "apiserver/list_options.h"
#include "apiserver/metric_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

namespace loadline::apiserver {
namespace {

using Segments = std::vector<std::string>;
using Parts = std::span<const std::string>;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return Error(Code::kBadRequest,
                     fmt::format("invalid URL escape \"{}\"", text.substr(i, 3)));
      }
      c = static_cast<char>(16 * high + low);
      i += 2;
    } else if (c == '+' && plus_is_blank) {
      c = ' ';
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      return Error(Code::kBadRequest, "invalid control character in URL");
    }
    out += c;
  }
  if (!is_utf8(out)) return Error(Code::kBadRequest, "invalid UTF-8 in URL");
  return out;
}

// REQUIRES: path begins with '/'. What stands between the slashes; the first is what follows the
// leading one.
Result<Segments> decode_segments(std::string_view path) {
  Segments segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    Result<std::string> segment = decode(path.substr(0, end), false);
    if (!segment) return segment.error();
    if (segment->find('/') != std::string::npos) {
      // Go decodes first and splits then: to authorize the one and answer the other would be a
      // hole.
      return Error(Code::kBadRequest,
                   "invalid URL escape \"%2F\": a path segment may not contain '/'");
    }
    segments.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return segments;
}

Result<QueryParameters> decode_query(std::string_view query) {
  QueryParameters parameters;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    if (pair.find(';') != std::string_view::npos) {
      return Error(Code::kBadRequest, "invalid semicolon separator in query");
    }
    const std::size_t equals = std::min(pair.find('='), pair.size());
    Result<std::string> name = decode(pair.substr(0, equals), true);
    if (!name) return name.error();
    Result<std::string> value = decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!value) return value.error();
    parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parameters;
}

// Without the empty segments at both ends, as Go trims every slash there.
Parts trimmed(const Segments& segments) {
  Parts parts(segments);
  while (!parts.empty() && parts.front().empty()) parts = parts.subspan(1);
  while (!parts.empty() && parts.back().empty()) parts = parts.first(parts.size() - 1);
  return parts;
}

std::string verb_of_method(std::string_view method) {
  if (method == "GET" || method == "HEAD") return "get";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// A get without a name is a list, or a watch, and may name its object in the field selector.
void refine_list_verb(kube::AccessAttributes& attributes, const QueryParameters& query) {
  const std::string* watch = find_parameter(query, "watch");
  attributes.verb = watch != nullptr && is_truthy(*watch) ? "watch" : "list";
  const std::string* selector = find_parameter(query, "fieldSelector");
  if (selector == nullptr || !check_numeric_options(query)) return;
  const Result<std::optional<std::string>> name = name_in_field_selector(*selector);
  if (name && *name && check_metric_name(**name)) attributes.name = **name;
}

// parts: what follows the version.
void read_resource(Parts parts, std::string_view method, const QueryParameters& query,
                   kube::AccessAttributes& attributes) {
  attributes.verb = verb_of_method(method);
  const bool verb_in_path = parts[0] == "watch" || parts[0] == "proxy";
  if (verb_in_path) {
    attributes.verb = parts[0];
    parts = parts.subspan(1);
  }
  if (parts.size() > 1 && parts[0] == "namespaces") {
    attributes.namespace_name = parts[1];
    // "status" and "finalize" are sub-resources of the namespace, anything else is a resource
    // within it.
    if (parts.size() > 2 && parts[2] != "status" && parts[2] != "finalize")
      parts = parts.subspan(2);
  }
  if (!parts.empty()) attributes.resource = parts[0];
  if (parts.size() > 1) attributes.name = parts[1];
  if (parts.size() > 2 && attributes.verb != "proxy") attributes.subresource = parts[2];
  if (!attributes.name.empty()) return;
  if (attributes.verb == "get") refine_list_verb(attributes, query);
  if (attributes.verb == "delete") attributes.verb = "deletecollection";
}

kube::AccessAttributes attributes_of(std::string_view method, const Segments& segments,
                                     const QueryParameters& query) {
  kube::AccessAttributes attributes;
  Parts parts = trimmed(segments);
  const bool grouped = !parts.empty() && parts[0] == "apis";
  const bool groupless = !parts.empty() && parts[0] == "api";
  if ((grouped && parts.size() >= 4) || (groupless && parts.size() >= 3)) {
    attributes.resource_request = true;
    if (grouped) attributes.group = parts[1];
    attributes.version = parts[grouped ? 2 : 1];
    read_resource(parts.subspan(grouped ? 3 : 2), method, query, attributes);
    return attributes;
  }
  attributes.verb = lower_case(method);
  for (const std::string& segment : segments) attributes.path += '/' + segment;
  return attributes;
}

bool has_empty(Parts parts) {
  return std::any_of(parts.begin(), parts.end(), [](const std::string& p) { return p.empty(); });
}

// parts: what follows the version, none of them empty.
void route_custom(Parts parts, RequestInfo& info) {
  info.route = Route::kUnknownInGroup;
  const bool in_namespace = parts[0] == "namespaces" && parts.size() > 2 && parts[2] != "status" &&
                            parts[2] != "finalize";
  if (in_namespace) {
    info.namespace_name = parts[1];
    parts = parts.subspan(2);
    if (parts.size() == 1) info.route = Route::kShortPath;
    if (parts[0] == "metrics") {
      if (parts.size() != 2) return;
      info.metric = parts[1];
      info.route = Route::kNamespaceMetric;
      return;
    }
  }
  if (parts.size() != 3) return;
  info.resource = parts[0];
  info.name = parts[1];
  info.metric = parts[2];
  info.route = in_namespace && info.resource == "pods" ? Route::kPodMetric : Route::kObjectMetric;
}

void route_external(Parts parts, RequestInfo& info) {
  info.route = Route::kUnknownInGroup;
  // "status" and "finalize" were authorized as sub-resources of the namespace: they are not ours to
  // answer.
  if (parts.size() != 3 || parts[0] != "namespaces" || info.attributes.subresource == parts[2])
    return;
  info.namespace_name = parts[1];
  // Clients lower-case this segment, so names differ by more than case.
  info.metric = lower_case(parts[2]);
  info.route = Route::kExternalMetric;
}

void route_apis(Parts parts, RequestInfo& info) {
  if (parts.size() == 1) {
    info.route = Route::kGroupList;
    return;
  }
  info.group = parts[1];
  if (parts.size() > 2) info.version = parts[2];
  const bool ours = info.group == kCustomGroup || info.group == kExternalGroup;
  if (!ours) return;
  if (has_empty(parts)) {
    info.route = Route::kUnknownInGroup;
  } else if (parts.size() == 2) {
    info.route = Route::kGroup;
  } else if (parts.size() == 3) {
    info.route = Route::kGroupVersion;
  } else if (info.group == kCustomGroup) {
    route_custom(parts.subspan(3), info);
  } else {
    route_external(parts.subspan(3), info);
  }
}

void route_openapi(Parts parts, RequestInfo& info) {
  if (parts.size() == 2 && parts[1] == "v2") info.route = Route::kOpenApiV2;
  if (parts.size() == 2 && parts[1] == "v3") info.route = Route::kOpenApiV3;
  if (parts.size() != 5 || parts[1] != "v3" || parts[2] != "apis") return;
  info.route = Route::kOpenApiV3GroupVersion;
  info.group = parts[3];
  info.version = parts[4];
}

// parts: with at most one slash at the end taken off, so that "//x" is no second name of "/x".
void route(Parts parts, RequestInfo& info) {
  if (parts.empty()) {
    info.route = Route::kIndex;
  } else if (parts[0] == "apis") {
    route_apis(parts, info);
  } else if (parts[0] == "openapi") {
    route_openapi(parts, info);
  } else if (parts[0] == "version" && parts.size() == 1) {
    info.route = Route::kVersion;
  } else if (parts[0] == "metrics" && parts.size() == 1) {
    info.route = Route::kMetrics;
  } else if ((parts[0] == "healthz" || parts[0] == "livez" || parts[0] == "readyz") &&
             parts.size() <= 2) {
    info.route = Route::kHealth;
    info.resource = parts[0];
    if (parts.size() == 2) info.name = parts[1];
  }
}

}  // namespace

std::string_view to_string(Route route) {
  switch (route) {
    case Route::kPodMetric:
      return "pod_metric";
    case Route::kObjectMetric:
      return "object_metric";
    case Route::kNamespaceMetric:
      return "namespace_metric";
    case Route::kExternalMetric:
      return "external_metric";
    case Route::kShortPath:
      return "short_path";
    case Route::kGroupList:
      return "group_list";
    case Route::kGroup:
      return "group";
    case Route::kGroupVersion:
      return "group_version";
    case Route::kOpenApiV2:
      return "openapi_v2";
    case Route::kOpenApiV3:
      return "openapi_v3";
    case Route::kOpenApiV3GroupVersion:
      return "openapi_v3_group_version";
    case Route::kVersion:
      return "version";
    case Route::kHealth:
      return "health";
    case Route::kMetrics:
      return "metrics";
    case Route::kIndex:
      return "index";
    case Route::kUnknownInGroup:
      return "unknown_in_group";
    case Route::kUnknown:
      break;
  }
  return "unknown";
}

const std::string* find_parameter(const QueryParameters& query, std::string_view name) {
  const auto found =
      std::find_if(query.begin(), query.end(), [&](const auto& p) { return p.first == name; });
  return found == query.end() ? nullptr : &found->second;
}

bool is_truthy(std::string_view value) { return value != "0" && lower_case(value) != "false"; }

Result<RequestInfo> parse_request(std::string_view method, std::string_view target) {
  if (target.empty() || target[0] != '/') {
    return Error(Code::kBadRequest,
                 "invalid request target: it must be a path that begins with '/'");
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  Result<Segments> segments = decode_segments(target.substr(0, question));
  if (!segments) return segments.error();
  Result<QueryParameters> query =
      decode_query(target.substr(std::min(question + 1, target.size())));
  if (!query) return query.error();

  RequestInfo info;
  info.query = std::move(*query);
  info.attributes = attributes_of(method, *segments, info.query);
  Parts parts(*segments);
  if (!parts.empty() && parts.back().empty()) parts = parts.first(parts.size() - 1);
  route(parts, info);
  return info;
}

}  // namespace loadline::apiserver
