#include "apiserver/document.h"

#include "apiserver/digest.h"

#include <algorithm>

namespace loadline::apiserver {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

Document make_document(std::string body, std::string content_type) {
  Document document;
  document.etag = '"' + to_hex(sha256(body)) + '"';
  document.body = std::make_shared<const std::string>(std::move(body));
  document.content_type = std::move(content_type);
  return document;
}

bool is_known_to_client(const Document& document, const net::Headers& headers) {
  const std::string* header = net::find_header(headers, "If-None-Match");
  if (header == nullptr) return false;
  std::string_view rest = *header;
  while (!rest.empty()) {
    std::string_view tag = trim(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == document.etag || tag == "*") return true;
  }
  return false;
}

}  // namespace loadline::apiserver
