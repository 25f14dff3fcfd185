#include "net/http_client.h"

#include "base/clock.h"
#include "net/request_head.h"
#include "net/resolve.h"
#include "net/stream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace loadline::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = 64u << 10;

std::string_view view(string_view text) { return {text.data(), text.size()}; }

// Hands the body on as views into the read buffer.
class ResponseParser final : public http::basic_parser<false> {
 public:
  ResponseParser(const BodySink& sink, bool head_only, std::size_t body_bytes) : sink_(sink) {
    // The caller feeds whole heads and bounds them.
    header_limit(std::numeric_limits<std::uint32_t>::max());
    if (body_bytes == 0) {
      body_limit(boost::none);
    } else {
      body_limit(body_bytes);
    }
    eager(true);
    skip(head_only);
  }

  int status() const { return head_.status; }
  bool interim() const { return head_.status / 100 == 1 && head_.status != 101; }
  bool unwanted() const { return unwanted_; }

 private:
  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int status, string_view, int, error_code&) override {
    head_.status = status;
  }
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    if (!is_header_done_) head_.headers.emplace_back(view(name), view(value));
  }
  void on_header_impl(error_code& error) override {
    is_header_done_ = true;  // what follows are trailers
    if (!interim() && sink_.on_head && !sink_.on_head(head_)) stop(error);
  }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code& error) override {
    if (sink_.on_data && !sink_.on_data(view(body))) stop(error);
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& error) override {
    return on_body_impl(body, error);
  }
  void on_finish_impl(error_code&) override {}

  void stop(error_code& error) {
    unwanted_ = true;
    error = http::error::end_of_stream;
  }

  const BodySink& sink_;
  HttpResponseHead head_;
  bool is_header_done_ = false;
  bool unwanted_ = false;
};

}  // namespace

class HttpClient::Impl {
 public:
  Impl(asio::any_io_executor executor, Endpoint endpoint, HttpLimits limits)
      : executor_(std::move(executor)), endpoint_(std::move(endpoint)), limits_(limits) {}

  asio::awaitable<Result<int>> stream(HttpRequest request, const BodySink& sink);
  void close() {
    if (stream_) stream_->close();
    stream_.reset();
  }
  bool connected() const { return stream_ && stream_->is_open(); }

 private:
  // One request on one connection.
  struct Exchange {
    Exchange(std::shared_ptr<Stream> s, const BodySink& k) : stream(std::move(s)), sink(k) {}
    std::shared_ptr<Stream> stream;
    const BodySink& sink;
    std::unique_ptr<char[]> buffer;
    std::size_t capacity = 0, filled = 0;
    bool head_only = false;
    bool untouched = true;  // no byte of an answer has come
    bool broken = false;    // the connection was, and no deadline or cancellation
    std::optional<ResponseParser> parser;
  };

  asio::awaitable<Status> dial();
  asio::awaitable<Result<int>> exchange(Exchange& x, std::string_view head, std::string_view body);
  asio::awaitable<Status> read_head(Exchange& x);
  asio::awaitable<Status> read_body(Exchange& x);
  Status take_head(Exchange& x, std::size_t head_size);
  Status take_body(Exchange& x);
  Status took(Exchange& x, std::size_t taken, error_code error);
  Error error_of(Io io, const Stream& stream, std::string_view phase, milliseconds limit) const;

  static SteadyTime after(milliseconds wait) {
    return wait.count() == 0 ? SteadyTime::max() : system_clock().steady_now() + wait;
  }

  asio::any_io_executor executor_;
  Endpoint endpoint_;
  HttpLimits limits_;
  std::shared_ptr<Stream> stream_;  // null: not connected
};

Error HttpClient::Impl::error_of(Io io, const Stream& stream, std::string_view phase,
                                 milliseconds limit) const {
  const std::string peer = fmt::format("{}:{}", endpoint_.host, endpoint_.port);
  switch (io) {
    case Io::kTimeout:
      return Error(Code::kTimeout,
                   fmt::format("{}: {} took longer than {} ms", peer, phase, limit.count()));
    case Io::kCancelled:
      return Error(Code::kUnavailable, fmt::format("{}: {}: cancelled", peer, phase));
    case Io::kEnd:
      return Error(Code::kUnavailable,
                   fmt::format("{}: {}: cut short, the peer closed the connection", peer, phase));
    case Io::kCut:
      return Error(Code::kUnavailable,
                   fmt::format("{}: {}: cut short, {}", peer, phase, stream.why()));
    default:
      return Error(Code::kUnavailable, fmt::format("{}: {}: {}", peer, phase, stream.why()));
  }
}

asio::awaitable<Status> HttpClient::Impl::dial() {
  close();
  const SteadyTime deadline = after(limits_.connect_timeout);
  auto found = co_await resolve(executor_, endpoint_.host, endpoint_.port, deadline);
  if (!found) co_return std::move(found).error();
  std::shared_ptr<Stream> stream;
  Io io = Io::kFailed;
  for (const tcp::endpoint& peer : *found) {
    stream = std::make_shared<Stream>(executor_);
    stream->set_deadline(deadline);
    stream_ = stream;  // so that close() reaches it
    io = co_await stream->connect(peer);
    if (io != Io::kFailed) break;
  }
  if (io != Io::kOk) {
    stream_.reset();
    co_return error_of(io, *stream, "connecting", limits_.connect_timeout);
  }
  if (endpoint_.tls) {
    const std::string& name =
        endpoint_.server_name.empty() ? endpoint_.host : endpoint_.server_name;
    io = co_await stream->client_handshake(endpoint_.tls, name);
    if (io != Io::kOk) {
      stream_.reset();
      co_return error_of(io, *stream, "TLS handshake", limits_.connect_timeout);
    }
  }
  co_return Status();
}

asio::awaitable<Result<int>> HttpClient::Impl::stream(HttpRequest request, const BodySink& sink) {
  const auto head = request_head(request, endpoint_);
  if (!head) co_return head.error();
  // Nothing is sent on a connection that has ended meanwhile, so this replacement is safe for every
  // method.
  bool kept = stream_ && stream_->quiet();
  for (;;) {
    if (!kept) {
      auto dialled = co_await dial();
      if (!dialled) co_return std::move(dialled).error();
    }
    Exchange x(stream_, sink);
    x.head_only = request.method == "HEAD";
    auto status = co_await exchange(x, *head, request.body);
    if (status) {
      x.stream->clear_deadline();
      const bool keep =
          x.parser->is_done() && x.parser->keep_alive() && x.filled == 0 && !x.parser->unwanted();
      if (!keep && stream_ == x.stream) close();
      co_return status;
    }
    const bool was_open = stream_ == x.stream;  // nobody has called close()
    x.stream->close();
    if (was_open) stream_.reset();
    const bool again = kept && was_open && x.untouched && x.broken && request.method == "GET";
    if (!again) co_return status;
    kept = false;
  }
}

asio::awaitable<Result<int>> HttpClient::Impl::exchange(Exchange& x, std::string_view head,
                                                        std::string_view body) {
  x.capacity = std::max(kReadBytes, limits_.head_bytes);
  x.buffer.reset(new char[x.capacity]);  // not zeroed
  x.stream->set_deadline(after(limits_.head_timeout));
  const Io io = co_await x.stream->write(head, body);
  // A peer that answers early and closes (413) breaks the write; its answer counts, if there is
  // one.
  if (io == Io::kTimeout || io == Io::kCancelled) {
    co_return error_of(io, *x.stream, "sending the request", limits_.head_timeout);
  }
  auto status = co_await read_head(x);
  if (status && !x.parser->is_done() && !x.parser->unwanted()) status = co_await read_body(x);
  if (!status) co_return std::move(status).error();
  co_return x.parser->status();
}

asio::awaitable<Status> HttpClient::Impl::read_head(Exchange& x) {
  std::size_t searched = 0;
  const std::size_t most = std::min(x.capacity, limits_.head_bytes);
  for (;;) {
    const std::string_view bytes(x.buffer.get(), x.filled);
    const std::string_view begin = bytes.substr(0, 5);
    if (begin != std::string_view("HTTP/").substr(0, begin.size())) {
      co_return Error(
          Code::kInternal,
          fmt::format("{}:{}: the answer is not HTTP/1.1{}", endpoint_.host, endpoint_.port,
                      endpoint_.tls ? "" : "; does the port want TLS?"));
    }
    const std::size_t end = bytes.find("\r\n\r\n", searched);
    if (end != std::string_view::npos && end + 4 <= most) {
      auto status = take_head(x, end + 4);
      searched = 0;
      if (!status || !x.parser->interim()) co_return status;
      continue;
    }
    if (end != std::string_view::npos || x.filled >= most) {
      co_return Error(Code::kTooLarge,
                      fmt::format("{}:{}: the response head is larger than {} bytes",
                                  endpoint_.host, endpoint_.port, most));
    }
    searched = x.filled < 3 ? 0 : x.filled - 3;
    const auto [io, n] =
        co_await x.stream->read_some(x.buffer.get() + x.filled, x.capacity - x.filled);
    if (io != Io::kOk) {
      x.broken = io != Io::kTimeout && io != Io::kCancelled;
      co_return error_of(io, *x.stream, x.untouched ? "waiting for the answer" : "response head",
                         limits_.head_timeout);
    }
    x.untouched = false;
    x.filled += n;
  }
}

Status HttpClient::Impl::take_head(Exchange& x, std::size_t head_size) {
  x.parser.emplace(x.sink, x.head_only, limits_.body_bytes);
  error_code error;
  // The head alone first: an interim one is followed by another head and not by a body.
  x.parser->eager(false);
  std::size_t taken = 0;
  while (taken < head_size && !x.parser->is_header_done() && !error) {
    taken += x.parser->put(asio::buffer(x.buffer.get() + taken, head_size - taken), error);
  }
  x.parser->eager(true);
  return took(x, taken, error);
}

Status HttpClient::Impl::take_body(Exchange& x) {
  error_code error;
  std::size_t taken = 0;
  while (taken < x.filled && !x.parser->is_done() && !error) {
    taken += x.parser->put(asio::buffer(x.buffer.get() + taken, x.filled - taken), error);
  }
  return took(x, taken, error);
}

// What the parser leaves (a chunk's size line cut in two) moves to the front.
Status HttpClient::Impl::took(Exchange& x, std::size_t taken, error_code error) {
  std::memmove(x.buffer.get(), x.buffer.get() + taken, x.filled - taken);
  x.filled -= taken;
  const bool wants_more = error == http::error::need_more && x.filled < x.capacity;
  if (!error || wants_more || x.parser->unwanted()) return {};
  if (error == http::error::body_limit) {
    return Error(Code::kTooLarge, fmt::format("{}:{}: the response body is larger than {} bytes",
                                              endpoint_.host, endpoint_.port, limits_.body_bytes));
  }
  return Error(Code::kInternal, fmt::format("{}:{}: malformed response: {}", endpoint_.host,
                                            endpoint_.port, error.message()));
}

asio::awaitable<Status> HttpClient::Impl::read_body(Exchange& x) {
  const SteadyTime end = after(limits_.body_timeout);
  for (;;) {
    if (auto status = take_body(x); !status) co_return status;
    if (x.parser->is_done() || x.parser->unwanted()) co_return Status();
    const SteadyTime idle_end = after(limits_.idle_timeout);
    x.stream->set_deadline(std::min(end, idle_end));
    const auto [io, n] =
        co_await x.stream->read_some(x.buffer.get() + x.filled, x.capacity - x.filled);
    x.filled += n;
    if (io == Io::kOk) continue;
    // Only a body without a length ends with the connection, and over TLS only if that end is
    // vouched for.
    if (io == Io::kEnd && x.parser->need_eof()) {
      error_code ignored;
      x.parser->put_eof(ignored);
      co_return Status();
    }
    const bool idle = idle_end < end;
    co_return error_of(io, *x.stream, idle ? "waiting for more of the body" : "response body",
                       idle ? limits_.idle_timeout : limits_.body_timeout);
  }
}

HttpClient::HttpClient(asio::any_io_executor executor, Endpoint endpoint, HttpLimits limits)
    : impl_(std::make_unique<Impl>(std::move(executor), std::move(endpoint), limits)) {}

HttpClient::~HttpClient() { close(); }

asio::awaitable<Result<HttpResponse>> HttpClient::request(HttpRequest request) {
  HttpResponse response;
  BodySink sink;
  sink.on_head = [&response](const HttpResponseHead& head) {
    response.status = head.status;
    response.headers = head.headers;
    return true;
  };
  sink.on_data = [&response](std::string_view part) {
    response.body.append(part);
    return true;
  };
  const auto status = co_await impl_->stream(std::move(request), sink);
  if (!status) co_return status.error();
  co_return response;
}

asio::awaitable<Result<int>> HttpClient::stream(HttpRequest request, const BodySink& sink) {
  return impl_->stream(std::move(request), sink);
}

void HttpClient::close() { impl_->close(); }

bool HttpClient::connected() const { return impl_->connected(); }

}  // namespace loadline::net
