// Where a redirect leads, as far as a scrape follows it: to another path of the same server, and
// nowhere else. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loadline::scrape {

// The request target ("/metrics/?x=1") that `location` means on an answer of
// http://host:port<path>; nothing where it is malformed or leads to another scheme, host or port.
// `host` is an IP literal, IPv6 without brackets.
std::optional<std::string> redirect_target(std::string_view host, std::uint16_t port,
                                           std::string_view path, std::string_view location);

}  // namespace loadline::scrape
