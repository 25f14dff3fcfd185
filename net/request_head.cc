#include "net/request_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace loadline::net {
namespace {

std::string authority(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  std::string text = v6 ? fmt::format("[{}]", endpoint.host) : endpoint.host;
  const std::uint16_t usual = endpoint.tls ? 443 : 80;
  if (endpoint.port != usual) text += fmt::format(":{}", endpoint.port);
  return text;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

}  // namespace

Result<std::string> request_head(const HttpRequest& request, const Endpoint& endpoint) {
  // A target may come from a redirect: nothing in it may end the line.
  if (request.target.empty() || has_control(request.target) ||
      request.target.find_first_of(" \t") != std::string::npos) {
    return Error(Code::kBadRequest,
                 "the request target is empty or has a blank or a control "
                 "character; percent-encode it");
  }
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.target,
                                 authority(endpoint));
  for (const auto& [name, value] : request.headers) {
    if (header_name_equals(name, "host") || header_name_equals(name, "connection") ||
        header_name_equals(name, "content-length")) {
      continue;
    }
    if (has_control(name) || has_control(value)) {
      return Error(Code::kBadRequest, fmt::format("header {:?} has a control character", name));
    }
    head += fmt::format("{}: {}\r\n", name, value);
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
      request.method == "PATCH") {
    head += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  head += "\r\n";
  return head;
}

}  // namespace loadline::net
