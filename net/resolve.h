// DNS names to addresses. Loop-bound.
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace loadline::net {

// An IP literal is taken as it is. Ends by the deadline even if the system's resolver hangs.
// Errors: kUnavailable, kTimeout.
boost::asio::awaitable<Result<std::vector<boost::asio::ip::tcp::endpoint>>> resolve(
    boost::asio::any_io_executor executor, std::string host, std::uint16_t port,
    SteadyTime deadline);

}  // namespace loadline::net
