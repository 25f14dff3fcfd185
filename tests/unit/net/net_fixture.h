// Both ends of a connection for the tests of net/: our server on a thread of its own, blocking raw
// sockets, and a scripted raw server. Everything on loopback, port 0. A wait that would never end
// fails the test after kPatience.
#pragma once

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/tls.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct ssl_st;

namespace loadline::net {

inline constexpr int kPatienceSeconds = 20;

// Runs the loop until the coroutine ends.
template <class T>
T await(boost::asio::io_context& loop, boost::asio::awaitable<T> task) {
  std::optional<T> result;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
    thrown = error;
    result.emplace(std::move(value));
  });
  loop.restart();
  while (!result && loop.run_one() > 0) {
  }
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*result);
}

// A blocking socket. Reads give up after kPatience, with what has come.
class RawSocket {
 public:
  explicit RawSocket(int fd);
  static RawSocket dial(std::uint16_t port);
  ~RawSocket();
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&&) = delete;

  void send(const std::string& bytes);
  std::string read_to_end();                     // until the peer closes
  std::string read_until(const std::string& s);  // until it ends with or contains s
  bool ended_by_reset() const { return reset_; }
  void shut_down_sending();
  void reset_on_close();
  void close();

  // From here on over TLS. True when the handshake went well.
  bool start_tls(const TlsContext& context, bool as_server);
  void say_tls_goodbye();

 private:
  long receive(char* buffer, std::size_t size);
  int fd_;
  bool reset_ = false;
  ssl_st* ssl_ = nullptr;
};

// Calls the script with each connection, in order, on a thread; ends when destroyed.
class RawServer {
 public:
  explicit RawServer(std::function<void(RawSocket&, int number)> script);
  ~RawServer();
  std::uint16_t port() const { return port_; }

 private:
  int listener_;
  std::uint16_t port_ = 0;
  std::function<void(RawSocket&, int)> script_;
  std::thread thread_;
};

// Our server on its own loop and thread. The handler answers "METHOD TARGET BODY".
class ServerThread {
 public:
  explicit ServerThread(HttpServer::Options options = {}, HttpHandler handler = echo_handler());
  ~ServerThread();
  static HttpHandler echo_handler();
  std::uint16_t port() const { return port_; }
  const ServerMetrics& metrics() const { return server_->metrics(); }
  // Stops and waits for it.
  void stop(std::chrono::milliseconds drain);

 private:
  boost::asio::io_context loop_;
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace loadline::net
