// An HTTP/1.1 server, over TLS or plain, on one loop: accepts, reads bounded requests under
// deadlines, asks the handler, writes. Knows nothing of Kubernetes. A connection is never reset
// with unread bytes: it is shut down, drained for a bounded time, closed.
#pragma once

#include "base/metrics.h"
#include "base/result.h"
#include "net/http.h"
#include "net/tls.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace loadline::net {

struct ServerRequest {
  std::string method;
  std::string target;  // as on the wire, origin form; nothing decoded or normalised
  Headers headers;
  std::string body;
  PeerCertificatePtr peer;  // null: plain, or no client certificate
  std::string remote;       // "127.0.0.1:4711"
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;  // Date, Content-Type and Content-Length are set by the server
  std::shared_ptr<const std::string> body;  // null: empty
  bool close = false;
};

// A coroutine on the server's loop. Must not throw; an exception becomes 500 and is logged.
using HttpHandler =
    std::function<boost::asio::awaitable<ServerResponse>(std::shared_ptr<const ServerRequest>)>;

// Answers what never reaches the handler (400 malformed, 408, 413, 414, 431, 503 …), so that its
// owner can choose the body.
using HttpErrorResponder = std::function<ServerResponse(int status, const std::string& message)>;

struct ServerLimits {
  std::size_t connections = 1024;
  std::size_t head_bytes = 64u << 10;
  std::size_t target_bytes = 16u << 10;
  std::size_t body_bytes = 1u << 20;
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds head_timeout{10'000};  // from the first byte of a request to its end
  std::chrono::milliseconds write_timeout{10'000};
  std::chrono::milliseconds idle_timeout{120'000};  // above the aggregator's 90 s
};

struct ServerMetrics {
  Counter connections_total, connections_refused_total, handshake_failures_total, requests_total,
      bad_requests_total;
  Gauge connections;
};

class HttpServer {
 public:
  struct Options {
    std::string bind_address = "0.0.0.0";  // IP literal
    std::uint16_t port = 0;                // 0: any free one
    // Null: plain HTTP. Otherwise asked at each accept, so that a rotation reaches new connections.
    std::function<TlsContext()> tls;
    ServerLimits limits;
  };
  HttpServer(boost::asio::any_io_executor executor, Options options, HttpHandler handler,
             HttpErrorResponder on_error);
  ~HttpServer();

  // Binds and listens; an error names address, port and cure. Then accepts until stop().
  Status start();
  std::uint16_t port() const;  // the one bound

  // Stops accepting, lets requests under way end (at most `drain`), closes idle connections, ends
  // when all are gone.
  boost::asio::awaitable<void> stop(std::chrono::milliseconds drain);

  const ServerMetrics& metrics() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace loadline::net
