#include "net/http_session.h"

#include "base/clock.h"
#include "base/log.h"

#include <boost/asio/error.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

namespace loadline::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::size_t kFirstBuffer = 4096;
constexpr std::size_t kMostDropped = 8u << 20;
constexpr std::chrono::milliseconds kFarewell{1'000};

SteadyTime after(std::chrono::milliseconds wait) { return system_clock().steady_now() + wait; }

bool breaks_line(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string http_date() {
  const std::time_t now = std::chrono::system_clock::to_time_t(system_clock().wall_now());
  static thread_local std::time_t made_for = 0;
  static thread_local std::string made;
  if (now != made_for) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    made = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", utc);
    made_for = now;
  }
  return made;
}

}  // namespace

std::string response_head(const ServerResponse& response, bool http_close, std::string_view date) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                                 std::string_view(reason.data(), reason.size()), date);
  if (has_body(response.status)) {
    const std::size_t size = response.body ? response.body->size() : 0;
    if (size > 0 && !breaks_line(response.content_type)) {
      head += fmt::format("Content-Type: {}\r\n", response.content_type);
    }
    head += fmt::format("Content-Length: {}\r\n", size);
  }
  for (const auto& [name, value] : response.headers) {
    if (breaks_line(name) || breaks_line(value) || header_name_equals(name, "content-length") ||
        header_name_equals(name, "transfer-encoding") || header_name_equals(name, "connection") ||
        header_name_equals(name, "date")) {
      continue;
    }
    head.append(name).append(": ").append(value).append("\r\n");
  }
  head += http_close ? "Connection: close\r\n\r\n" : "\r\n";
  return head;
}

HttpSession::HttpSession(asio::ip::tcp::socket socket,
                         std::shared_ptr<SessionEnvironment> environment)
    : environment_(std::move(environment)), stream_(std::move(socket)) {}

void HttpSession::close_if_idle() {
  if (phase_ == Phase::kNew || phase_ == Phase::kIdle) stream_.cancel();
}

void HttpSession::close() {
  phase_ = Phase::kEnding;
  stream_.close();
}

asio::awaitable<void> HttpSession::run(TlsContext tls) {
  try {
    co_await serve(std::move(tls));
  } catch (const boost::system::system_error& e) {
    // The loop's way of saying that the server stops.
    if (e.code() != asio::error::operation_aborted) {
      log_error("connection ended by an exception", kv("error", e.what()));
    }
  } catch (const std::exception& e) {
    log_error("connection ended by an exception", kv("error", e.what()));
  }
  close();
}

asio::awaitable<void> HttpSession::serve(TlsContext tls) {
  remote_ = stream_.remote();
  if (tls) {
    stream_.set_deadline(after(environment_->limits.handshake_timeout));
    const Io io = co_await stream_.server_handshake(std::move(tls));
    if (io != Io::kOk) {
      environment_->metrics.handshake_failures_total.add();
      co_return;
    }
    peer_ = stream_.peer_certificate();
  }
  for (;;) {
    const bool wanted = co_await wait_for_request();
    if (!wanted) co_return;
    RequestParser parser(environment_->limits);
    const bool complete = co_await read_request(parser);
    if (!complete) co_return;
    const bool another = co_await answer(parser);
    if (!another) co_return;
    phase_ = Phase::kIdle;
  }
}

// False: the connection has ended, and is closed as it should be.
asio::awaitable<bool> HttpSession::wait_for_request() {
  if (begin_ == end_ && !environment_->draining) {
    buffer_.resize(std::min(buffer_.size(), kFirstBuffer));
    buffer_.shrink_to_fit();
    const ServerLimits& limits = environment_->limits;
    // Who connects has something to say.
    stream_.set_deadline(after(phase_ == Phase::kNew ? limits.head_timeout : limits.idle_timeout));
    const Io io = co_await stream_.wait_readable();
    if (io == Io::kOk) co_return true;
    if (stream_.is_open()) co_await finish();
    co_return false;
  }
  if (!environment_->draining) co_return true;
  co_await finish();
  co_return false;
}

void HttpSession::make_room() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    // A head that is over the limit must fit in, for the parser to see it.
    const std::size_t most = environment_->limits.head_bytes + kFirstBuffer;
    buffer_.resize(std::min(std::max(kFirstBuffer, buffer_.size() * 2), most));
  }
}

// False: answered with an error or closed.
asio::awaitable<bool> HttpSession::read_request(RequestParser& parser) {
  stream_.set_deadline(after(environment_->limits.head_timeout));
  bool told_to_continue = false;
  for (;;) {
    const std::string_view bytes(buffer_.data() + begin_, end_ - begin_);
    begin_ += parser.feed(bytes);
    if (end_ > 0 && phase_ != Phase::kEnding) phase_ = Phase::kRequest;
    if (parser.state() == RequestParser::State::kDone) co_return true;
    if (parser.state() == RequestParser::State::kFailed) {
      co_await refuse(parser.status(), parser.message());
      co_return false;
    }
    if (parser.state() == RequestParser::State::kBody && parser.expects_continue() &&
        !told_to_continue && begin_ == end_) {
      told_to_continue = true;
      const Io io = co_await stream_.write("HTTP/1.1 100 Continue\r\n\r\n", "");
      if (io != Io::kOk) co_return false;
    }
    make_room();
    if (end_ == buffer_.size()) {
      const std::string message = "a chunk's head or the trailers are too large";
      co_await refuse(400, message);
      co_return false;
    }
    const auto [io, n] = co_await stream_.read_some(buffer_.data() + end_, buffer_.size() - end_);
    end_ += n;
    if (io == Io::kOk) continue;
    if (io == Io::kTimeout) {
      const std::string message = "the request did not arrive in time";
      co_await refuse(408, message);
    } else if (io == Io::kEnd && stream_.is_open()) {
      if (phase_ == Phase::kRequest) environment_->metrics.bad_requests_total.add();
      co_await finish();
    }
    co_return false;
  }
}

// False: the connection is not to be used again, and is closed as it should be.
asio::awaitable<bool> HttpSession::answer(RequestParser& parser) {
  const bool keep_alive = parser.keep_alive();
  auto request = parser.take_request();
  request->peer = peer_;
  request->remote = remote_;
  const bool head_only = request->method == "HEAD";
  environment_->metrics.requests_total.add();
  stream_.set_deadline(SteadyTime::max());  // how long the handler may take is its own affair
  std::optional<ServerResponse> response;
  std::string failure;
  try {
    const std::shared_ptr<const ServerRequest> given = std::move(request);
    response = co_await environment_->handler(given);
  } catch (const std::exception& e) {
    failure = e.what();
  }
  if (!response) {
    if (!stream_.is_open()) co_return false;  // cut off by stop(): no fault of the handler's
    log_error("request handler failed", kv("error", failure));
    response = environment_->on_error(500, "internal error");
    response->close = true;
  }
  const bool close = !keep_alive || response->close || environment_->draining;
  const bool written = co_await write(std::move(*response), close, head_only);
  if (written && close) co_await finish();
  co_return written && !close;
}

asio::awaitable<bool> HttpSession::write(ServerResponse response, bool close, bool head_only) {
  stream_.set_deadline(after(environment_->limits.write_timeout));
  const std::string date = http_date();
  const std::string head = response_head(response, close, date);
  std::string_view body;
  if (response.body && !head_only && has_body(response.status)) body = *response.body;
  const Io io = co_await stream_.write(head, body);
  co_return io == Io::kOk;
}

asio::awaitable<void> HttpSession::refuse(int status, std::string message) {
  phase_ = Phase::kRequest;
  environment_->metrics.bad_requests_total.add();
  ServerResponse response = environment_->on_error(status, message);
  const bool written = co_await write(std::move(response), true, false);
  if (written) co_await finish();
}

asio::awaitable<void> HttpSession::finish() {
  phase_ = Phase::kEnding;
  stream_.set_deadline(after(kFarewell));
  co_await stream_.finish(kMostDropped);
}

}  // namespace loadline::net
