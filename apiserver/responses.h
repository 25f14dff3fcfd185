// The forms that our answers have: Status, text, documents, and what every answer carries. Pure.
#pragma once

#include "apiserver/document.h"
#include "apiserver/status.h"
#include "net/http_server.h"

#include <string>

namespace loadline::apiserver {

net::ServerResponse json_response(int http_status, std::string body);
net::ServerResponse status_response(const StatusAnswer& answer);
net::ServerResponse error_response(const Error& error);  // its Status
// text/plain, with nosniff: it may repeat what the client sent.
net::ServerResponse text_response(int http_status, std::string text);

// 304 when the client has it already.
net::ServerResponse document_response(const Document& document,
                                      const net::Headers& request_headers);

// Audit-Id (the request's own, if it is a fit one) and Cache-Control.
void add_common_headers(net::ServerResponse& response, const net::Headers& request_headers);

// A JSON body in the form for people, without its ETag.
void make_pretty(net::ServerResponse& response);

// Connection: Upgrade, or an Upgrade header.
bool asks_for_upgrade(const net::Headers& headers);

}  // namespace loadline::apiserver
