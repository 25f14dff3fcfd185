#include "net/resolve.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <memory>

namespace loadline::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

// A name being looked up. Shared with the handler, so that a lookup that hangs does not hold the
// request that gave up.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
  tcp::resolver resolver;
  asio::steady_timer done;
  bool finished = false;
  error_code error;
  std::vector<tcp::endpoint> found;
};

}  // namespace

asio::awaitable<Result<std::vector<tcp::endpoint>>> resolve(asio::any_io_executor executor,
                                                            std::string host, std::uint16_t port,
                                                            SteadyTime deadline) {
  error_code not_ip;
  const auto address = asio::ip::make_address(host, not_ip);
  std::vector<tcp::endpoint> endpoints;
  if (!not_ip) {
    endpoints.emplace_back(address, port);
    co_return endpoints;
  }
  const auto lookup = std::make_shared<Lookup>(executor);
  lookup->done.expires_at(deadline);
  lookup->resolver.async_resolve(
      host, std::to_string(port), tcp::resolver::numeric_service,
      [lookup](const error_code& error, const tcp::resolver::results_type& results) {
        lookup->finished = true;
        lookup->error = error;
        for (const auto& entry : results) lookup->found.push_back(entry.endpoint());
        lookup->done.cancel();
      });
  const auto [ended] = co_await lookup->done.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!lookup->finished) {
    lookup->resolver.cancel();
    if (ended) co_return Error(Code::kUnavailable, "cancelled");
    co_return Error(Code::kTimeout, fmt::format("the name {} was not resolved in time", host));
  }
  if (lookup->error || lookup->found.empty()) {
    co_return Error(Code::kUnavailable, fmt::format("the name {} cannot be resolved: {}", host,
                                                    lookup->error.message()));
  }
  co_return std::move(lookup->found);
}

}  // namespace loadline::net
