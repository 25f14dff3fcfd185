#include "net/http_client.h"

#include "base/clock.h"
#include "net/request_head.h"
#include "net/resolve.h"
#include "net/response_parser.h"
#include "net/stream.h"

#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace loadline::net {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = 64u << 10;

}  // namespace

class HttpClient::Impl {
 public:
  Impl(asio::any_io_executor executor, Endpoint endpoint, HttpLimits limits)
      : executor_(std::move(executor)), endpoint_(std::move(endpoint)), limits_(limits) {}

  // A cancelled coroutine may end by an exception, at any co_await: nothing half-done is kept then.
  asio::awaitable<Result<int>> stream(HttpRequest request, const BodySink& sink) {
    try {
      co_return co_await send(std::move(request), sink);
    } catch (...) {
      close();
      throw;
    }
  }
  void close() {
    if (stream_) stream_->close();
    stream_.reset();
  }
  bool connected() const { return stream_ && stream_->is_open(); }

 private:
  // One request on one connection.
  struct Exchange {
    Exchange(std::shared_ptr<Stream> s, const BodySink& sink, const HttpLimits& limits, bool head)
        : stream(std::move(s)), parser(sink, limits, head) {}
    std::shared_ptr<Stream> stream;
    ResponseParser parser;
    std::unique_ptr<char[]> buffer;
    std::size_t capacity = 0, filled = 0;
    bool untouched = true;  // no byte of an answer has come
    bool broken = false;    // the connection was, and no deadline or cancellation
  };

  asio::awaitable<Result<int>> send(HttpRequest request, const BodySink& sink);
  asio::awaitable<Status> dial();
  asio::awaitable<Result<int>> exchange(Exchange& x, std::string_view head, std::string_view body);
  asio::awaitable<Status> read_answer(Exchange& x);
  Status take(Exchange& x);
  Error named(Code code, std::string_view what) const {
    return Error(code, fmt::format("{}:{}: {}", endpoint_.host, endpoint_.port, what));
  }
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
  switch (io) {
    case Io::kTimeout:
      return named(Code::kTimeout, fmt::format("{} took longer than {} ms", phase, limit.count()));
    case Io::kCancelled:
      return named(Code::kUnavailable, fmt::format("{}: cancelled", phase));
    case Io::kEnd:
      return named(Code::kUnavailable,
                   fmt::format("{}: cut short, the peer closed the connection", phase));
    case Io::kCut:
      return named(Code::kUnavailable, fmt::format("{}: cut short, {}", phase, stream.why()));
    default:
      return named(Code::kUnavailable, fmt::format("{}: {}", phase, stream.why()));
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

asio::awaitable<Result<int>> HttpClient::Impl::send(HttpRequest request, const BodySink& sink) {
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
    Exchange x(stream_, sink, limits_, request.method == "HEAD");
    auto status = co_await exchange(x, *head, request.body);
    if (status) {
      x.stream->clear_deadline();
      const bool keep = x.parser.keep_alive() && x.filled == 0;
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
  x.capacity = std::max(kReadBytes, limits_.head_bytes + 1);
  x.buffer.reset(new char[x.capacity]);  // not zeroed
  x.stream->set_deadline(after(limits_.head_timeout));
  const Io io = co_await x.stream->write(head, body);
  // A peer that answers early and closes (413) breaks the write; its answer counts, if there is
  // one.
  if (io == Io::kTimeout || io == Io::kCancelled) {
    co_return error_of(io, *x.stream, "sending the request", limits_.head_timeout);
  }
  auto status = co_await read_answer(x);
  if (!status) co_return std::move(status).error();
  co_return x.parser.status();
}

// What the parser leaves (a head or a chunk's size line not yet complete) moves to the front.
Status HttpClient::Impl::take(Exchange& x) {
  const std::size_t taken = x.parser.feed(std::string_view(x.buffer.get(), x.filled));
  std::memmove(x.buffer.get(), x.buffer.get() + taken, x.filled - taken);
  x.filled -= taken;
  if (x.parser.failure()) return named(x.parser.failure()->code, x.parser.failure()->message);
  if (x.filled < x.capacity) return {};
  return named(Code::kInternal, "malformed response: a chunk's head or the trailers are too large");
}

asio::awaitable<Status> HttpClient::Impl::read_answer(Exchange& x) {
  SteadyTime body_end = SteadyTime::max();
  bool in_body = false;
  for (;;) {
    if (x.filled > 0) {
      if (auto status = take(x); !status) co_return status;
      if (x.parser.done()) co_return Status();
    }
    if (!in_body && x.parser.head_done()) {
      in_body = true;
      body_end = after(limits_.body_timeout);
    }
    const SteadyTime idle_end = in_body ? after(limits_.idle_timeout) : body_end;
    if (in_body) x.stream->set_deadline(std::min(body_end, idle_end));
    const auto [io, n] =
        co_await x.stream->read_some(x.buffer.get() + x.filled, x.capacity - x.filled);
    x.filled += n;
    if (io == Io::kOk) {
      x.untouched = false;
      continue;
    }
    // Only a body without a length ends with the connection, and over TLS only if that end is
    // vouched for.
    if (io == Io::kEnd && x.parser.feed_end()) co_return Status();
    x.broken = io != Io::kTimeout && io != Io::kCancelled;
    if (!in_body) {
      co_return error_of(io, *x.stream, x.untouched ? "waiting for the answer" : "response head",
                         limits_.head_timeout);
    }
    const bool idle = idle_end < body_end;
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
