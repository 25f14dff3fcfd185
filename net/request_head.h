// The head of a request as it goes over the wire. Pure.
#pragma once

#include "base/result.h"
#include "net/http_client.h"

#include <string>

namespace loadline::net {

// kBadRequest when target, name or value would break out of its line.
Result<std::string> request_head(const HttpRequest& request, const Endpoint& endpoint);

}  // namespace loadline::net
