// An HTTP/1.1 client: one kept connection to one endpoint, plain or TLS. One request at a time, on
// one loop. No redirects are followed, no proxies used; every wait has a deadline; every body a
// limit.
#pragma once

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
#include <string_view>

namespace loadline::net {

struct Endpoint {
  std::string host;  // DNS name or IP literal (IPv6 without brackets)
  std::uint16_t port = 0;
  TlsContext tls;           // null: plain
  std::string server_name;  // SNI and the name verified; empty: host
};

// With a constructor, so that g++ 12 handles temporaries of it in co_await expressions
// (CONTRIBUTING.md).
struct HttpRequest {
  HttpRequest(std::string m, std::string t) : method(std::move(m)), target(std::move(t)) {}
  std::string method;  // "GET", …
  std::string target;  // origin form: "/metrics?x=1"
  Headers headers;     // Host, Connection and Content-Length are set by the client
  std::string body;
};

struct HttpLimits {
  std::chrono::milliseconds connect_timeout{5'000};  // name, TCP and TLS
  std::chrono::milliseconds head_timeout{10'000};    // from sending to the whole response head
  std::chrono::milliseconds body_timeout{10'000};    // for the whole body; 0: none (a watch)
  std::chrono::milliseconds idle_timeout{0};         // between two reads of the body; 0: none
  std::size_t head_bytes = 64u << 10;
  std::size_t body_bytes = 64u << 20;  // 0: none (a watch)
};

struct HttpResponseHead {
  int status = 0;
  Headers headers;
};

struct HttpResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

// Receives the response as it arrives. Both on the loop of the request.
struct BodySink {
  // Once, before any body byte. false: the body is not wanted; the connection is closed and the
  // request ends well.
  std::function<bool(const HttpResponseHead&)> on_head;
  // Each part, valid during the call only. false: as above.
  std::function<bool(std::string_view)> on_data;
};

class HttpClient {
 public:
  HttpClient(boost::asio::any_io_executor executor, Endpoint endpoint, HttpLimits limits);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends and reads the whole answer. A kept connection that has ended meanwhile is replaced
  // unseen: for every method before the request is sent, once for GET after it. Errors:
  // kUnavailable (refused, reset, cut short, cancelled), kTimeout, kTooLarge, kInternal (malformed
  // answer), kBadRequest (a target or header that would break out of its line).
  boost::asio::awaitable<Result<HttpResponse>> request(HttpRequest request);

  // The same, handing the body on as it arrives. The sink must outlive the call. Ends with the
  // response's status.
  boost::asio::awaitable<Result<int>> stream(HttpRequest request, const BodySink& sink);

  // Drops the connection; the next request dials anew.
  void close();

  bool connected() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loadline::net
