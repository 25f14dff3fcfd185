#include "apiserver/responses.h"

#include "apiserver/digest.h"
#include "apiserver/json_text.h"

#include <algorithm>
#include <utility>

namespace loadline::apiserver {
namespace {

constexpr std::size_t kMostAuditIdBytes = 64;

bool is_token(std::string_view text) {
  constexpr std::string_view kSymbols = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kSymbols.find(c) != std::string_view::npos;
  });
}

std::string audit_id(const net::Headers& headers) {
  const std::string* id = net::find_header(headers, "Audit-Id");
  if (id != nullptr && id->size() <= kMostAuditIdBytes && is_token(*id)) return *id;
  return new_uuid();
}

}  // namespace

net::ServerResponse json_response(int http_status, std::string body) {
  net::ServerResponse response;
  response.status = http_status;
  response.body = std::make_shared<const std::string>(std::move(body));
  return response;
}

net::ServerResponse status_response(const StatusAnswer& answer) {
  return json_response(answer.http_status, status_json(answer));
}

net::ServerResponse error_response(const Error& error) { return status_response(status_of(error)); }

net::ServerResponse text_response(int http_status, std::string text) {
  net::ServerResponse response = json_response(http_status, std::move(text));
  response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return response;
}

net::ServerResponse document_response(const Document& document,
                                      const net::Headers& request_headers) {
  net::ServerResponse response;
  response.content_type = document.content_type;
  response.headers.emplace_back("ETag", document.etag);
  response.headers.emplace_back("Vary", "Accept");
  if (is_known_to_client(document, request_headers)) {
    response.status = 304;
  } else {
    response.body = document.body;
  }
  return response;
}

void add_common_headers(net::ServerResponse& response, const net::Headers& request_headers) {
  response.headers.emplace_back("Audit-Id", audit_id(request_headers));
  response.headers.emplace_back("Cache-Control", "no-cache, private");
}

void make_pretty(net::ServerResponse& response) {
  if (response.body == nullptr || !response.content_type.starts_with("application/json")) return;
  response.body = std::make_shared<const std::string>(indent_json(*response.body));
  std::erase_if(response.headers, [](const auto& header) { return header.first == "ETag"; });
}

bool asks_for_upgrade(const net::Headers& headers) {
  if (net::find_header(headers, "Upgrade") != nullptr) return true;
  for (const auto& [name, value] : headers) {
    if (!net::header_name_equals(name, "Connection")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      std::string_view option = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(option.size() + 1, rest.size()));
      while (!option.empty() && option.front() == ' ') option.remove_prefix(1);
      while (!option.empty() && option.back() == ' ') option.remove_suffix(1);
      if (net::header_name_equals(option, "upgrade")) return true;
    }
  }
  return false;
}

}  // namespace loadline::apiserver
