// One connection of the HTTP server: handshake, then request after request, until one side has
// enough. Loop-bound.
#pragma once

#include "net/http_server.h"
#include "net/request_parser.h"
#include "net/stream.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::net {

// What all connections of a server share.
struct SessionEnvironment {
  ServerLimits limits;
  HttpHandler handler;
  HttpErrorResponder on_error;
  ServerMetrics metrics;
  bool draining = false;  // each answer is a connection's last
};

// The head of an answer. Fields that would break the framing (a line end in a value; a length, a
// date, a coding of the handler's own) are left out.
std::string response_head(const ServerResponse& response, bool http_close, std::string_view date);

class HttpSession {
 public:
  HttpSession(boost::asio::ip::tcp::socket socket, std::shared_ptr<SessionEnvironment> environment);

  // tls: null for plain. Ends with the connection, and does not throw.
  boost::asio::awaitable<void> run(TlsContext tls);

  // No request has come yet, not even a bad one: the first to go when there are too many
  // connections.
  bool is_new() const { return phase_ == Phase::kNew; }
  // Ends it unless a request is under way.
  void close_if_idle();
  void close();

 private:
  enum class Phase { kNew, kIdle, kRequest, kEnding };
  boost::asio::awaitable<void> serve(TlsContext tls);
  boost::asio::awaitable<bool> wait_for_request();
  boost::asio::awaitable<bool> read_request(RequestParser& parser);
  boost::asio::awaitable<bool> answer(RequestParser& parser);
  boost::asio::awaitable<void> refuse(int status, std::string message);
  boost::asio::awaitable<bool> write(ServerResponse response, bool close, bool head_only);
  boost::asio::awaitable<void> finish();
  void make_room();

  std::shared_ptr<SessionEnvironment> environment_;
  Stream stream_;
  Phase phase_ = Phase::kNew;
  PeerCertificatePtr peer_;
  std::string remote_;
  std::vector<char> buffer_;         // grows with the head, up to its limit
  std::size_t begin_ = 0, end_ = 0;  // what has been read and not yet parsed
};

}  // namespace loadline::net
