#include "net/http_server.h"

#include "base/log.h"
#include "base/task_group.h"
#include "net/http_session.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <utility>

namespace loadline::net {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

class HttpServer::Impl : public std::enable_shared_from_this<HttpServer::Impl> {
 public:
  Impl(asio::any_io_executor executor, Options options, HttpHandler handler,
       HttpErrorResponder on_error)
      : executor_(executor),
        options_(std::move(options)),
        environment_(std::make_shared<SessionEnvironment>()),
        acceptor_(executor),
        emptied_(executor),
        tasks_(executor) {
    environment_->limits = options_.limits;
    environment_->handler = std::move(handler);
    environment_->on_error = std::move(on_error);
  }

  Status start();
  std::uint16_t port() const {
    error_code error;
    const auto bound = acceptor_.local_endpoint(error);
    return error ? std::uint16_t{0} : bound.port();
  }
  const ServerMetrics& metrics() const { return environment_->metrics; }
  asio::awaitable<void> stop(std::shared_ptr<Impl> self, std::chrono::milliseconds drain);
  void abandon();

 private:
  using Sessions = std::list<std::shared_ptr<HttpSession>>;

  // In the list as long as the connection's coroutine lives.
  struct Registration {
    Registration(std::shared_ptr<Impl> s, Sessions::iterator p) : server(std::move(s)), place(p) {}
    ~Registration() { server->forget(place); }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    std::shared_ptr<Impl> server;
    Sessions::iterator place;
  };

  asio::awaitable<void> accept(std::shared_ptr<Impl> self);
  static asio::awaitable<void> serve(std::shared_ptr<Registration> registration, TlsContext tls);
  void admit(tcp::socket socket);
  void forget(Sessions::iterator place);

  asio::any_io_executor executor_;
  const Options options_;
  std::shared_ptr<SessionEnvironment> environment_;
  tcp::acceptor acceptor_;
  asio::steady_timer emptied_;  // cancelled when the last session ends
  Sessions sessions_;           // in the order of their coming
  TaskGroup tasks_;
};

Status HttpServer::Impl::start() {
  const std::string where = fmt::format("{}:{}", options_.bind_address, options_.port);
  error_code error;
  const auto address = asio::ip::make_address(options_.bind_address, error);
  if (error) {
    return Error(Code::kBadRequest,
                 fmt::format("cannot listen on {}: the address is not an IP literal", where));
  }
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && address.is_v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    const char* cure = error == asio::error::address_in_use
                           ? "; choose another port or stop the process that has it"
                       : error == asio::error::access_denied
                           ? "; choose a port above 1023, or grant CAP_NET_BIND_SERVICE"
                           : "; check the address";
    error_code ignored;
    acceptor_.close(ignored);
    return Error(Code::kUnavailable,
                 fmt::format("cannot listen on {}: {}{}", where, error.message(), cure));
  }
  tasks_.spawn("accept", accept(shared_from_this()));
  return {};
}

asio::awaitable<void> HttpServer::Impl::accept([[maybe_unused]] std::shared_ptr<Impl> self) {
  asio::steady_timer pause(executor_);
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(kTuple);
    if (!error) {
      admit(std::move(socket));
      continue;
    }
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) co_return;
    if (error == asio::error::connection_aborted) continue;
    // No descriptors or no memory: trying again at once would spin.
    log_warning("cannot accept connections", kv("error", error.message()));
    pause.expires_after(std::chrono::milliseconds(100));
    co_await pause.async_wait(kTuple);
  }
}

void HttpServer::Impl::admit(tcp::socket socket) {
  ServerMetrics& metrics = environment_->metrics;
  metrics.connections_total.add();
  TlsContext tls;
  if (options_.tls) tls = options_.tls();
  bool room = sessions_.size() < environment_->limits.connections;
  if (!room) {
    // The oldest that has not asked anything yet makes room: half-open connections cannot lock
    // honest clients out.
    const auto silent = std::find_if(sessions_.begin(), sessions_.end(),
                                     [](const auto& session) { return session->is_new(); });
    room = silent != sessions_.end();
    if (room) (*silent)->close();
    metrics.connections_refused_total.add();
  }
  // Without a context there is no plain speech instead.
  if (!room || (options_.tls && !tls)) return;
  auto session = std::make_shared<HttpSession>(std::move(socket), environment_);
  const auto place = sessions_.insert(sessions_.end(), std::move(session));
  metrics.connections.set(static_cast<double>(sessions_.size()));
  auto registration = std::make_shared<Registration>(shared_from_this(), place);
  tasks_.spawn("connection", serve(std::move(registration), std::move(tls)));
}

asio::awaitable<void> HttpServer::Impl::serve(std::shared_ptr<Registration> registration,
                                              TlsContext tls) {
  const std::shared_ptr<HttpSession> session = *registration->place;
  co_await session->run(std::move(tls));
}

void HttpServer::Impl::forget(Sessions::iterator place) {
  sessions_.erase(place);
  environment_->metrics.connections.set(static_cast<double>(sessions_.size()));
  if (sessions_.empty()) emptied_.cancel();
}

asio::awaitable<void> HttpServer::Impl::stop([[maybe_unused]] std::shared_ptr<Impl> self,
                                             std::chrono::milliseconds drain) {
  environment_->draining = true;
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& session : sessions_) session->close_if_idle();
  emptied_.expires_after(drain);
  if (!sessions_.empty()) co_await emptied_.async_wait(kTuple);
  abandon();
  co_await tasks_.join();
}

void HttpServer::Impl::abandon() {
  error_code ignored;
  acceptor_.close(ignored);
  for (const auto& session : sessions_) session->close();
  tasks_.cancel();
}

HttpServer::HttpServer(asio::any_io_executor executor, Options options, HttpHandler handler,
                       HttpErrorResponder on_error)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(options), std::move(handler),
                                   std::move(on_error))) {}

HttpServer::~HttpServer() { impl_->abandon(); }

Status HttpServer::start() { return impl_->start(); }

std::uint16_t HttpServer::port() const { return impl_->port(); }

asio::awaitable<void> HttpServer::stop(std::chrono::milliseconds drain) {
  return impl_->stop(impl_, drain);
}

const ServerMetrics& HttpServer::metrics() const { return impl_->metrics(); }

}  // namespace loadline::net
