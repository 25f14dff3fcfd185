// A JSON document that is made once and served as it is, with its ETag. Immutable, thread-safe.
#pragma once

#include "net/http.h"

#include <memory>
#include <string>
#include <string_view>

namespace loadline::apiserver {

struct Document {
  std::shared_ptr<const std::string> body;
  std::string content_type = "application/json";
  std::string etag;  // quoted: the digest of the body
};

Document make_document(std::string body, std::string content_type = "application/json");

// Whether an If-None-Match header of the request names this document.
bool is_known_to_client(const Document& document, const net::Headers& headers);

}  // namespace loadline::apiserver
