#include "net/request_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include <limits>
#include <utility>

namespace loadline::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

class RequestParser::Message final : public http::basic_parser<true> {
 public:
  explicit Message(std::size_t body_bytes) : request(std::make_shared<ServerRequest>()) {
    header_limit(std::numeric_limits<std::uint32_t>::max());  // feed_head bounds it
    body_limit(body_bytes);
    request->headers.reserve(16);
  }

  std::shared_ptr<ServerRequest> request;
  bool http_1_0 = false;

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    request->method.assign(method.data(), method.size());
    request->target.assign(target.data(), target.size());
    http_1_0 = version == 10;
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    if (in_trailers_) return;
    request->headers.emplace_back(std::string(name.data(), name.size()),
                                  std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code&) override { in_trailers_ = true; }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override {
    request->body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& error) override {
    return on_body_impl(body, error);
  }
  void on_finish_impl(error_code&) override {}

  bool in_trailers_ = false;
};

RequestParser::RequestParser(const ServerLimits& limits) : limits_(limits) {}
RequestParser::~RequestParser() = default;

void RequestParser::fail(int status, std::string message) {
  state_ = State::kFailed;
  status_ = status;
  message_ = std::move(message);
}

std::size_t RequestParser::feed(std::string_view bytes) {
  std::size_t taken = 0;
  if (state_ == State::kHead) taken = feed_head(bytes);
  if (state_ == State::kBody) taken += feed_body(bytes.substr(taken));
  return taken;
}

// Looks for the end of the head line by line. Beast would take a folded header line, and would wait
// for ever for the end of a head whose lines end in a bare LF.
std::size_t RequestParser::feed_head(std::string_view bytes) {
  std::size_t skipped = 0;
  // A client may send an empty line after a body (RFC 9112, 2.2).
  while (line_ == 0 && bytes.substr(skipped, 2) == "\r\n") skipped += 2;
  bytes.remove_prefix(skipped);
  if (skipped > 0) scanned_ = 0;
  for (;;) {
    const std::size_t end = bytes.find('\n', line_ + scanned_);
    const bool first = line_ == 0;
    const std::size_t line_size = (end == bytes.npos ? bytes.size() : end) - line_;
    if (first && line_size > limits_.target_bytes + 64) {
      fail(414, fmt::format("the request target is longer than {} bytes", limits_.target_bytes));
      return skipped;
    }
    if ((end == bytes.npos ? bytes.size() : end + 1) > limits_.head_bytes) {
      fail(431, fmt::format("the request head is larger than {} bytes", limits_.head_bytes));
      return skipped;
    }
    if (end == bytes.npos) {
      scanned_ = line_size;
      return skipped;
    }
    if (line_size == 0 || bytes[end - 1] != '\r') {
      fail(400, "a line of the request head does not end in CR LF");
      return skipped;
    }
    if (!first && (bytes[line_] == ' ' || bytes[line_] == '\t')) {
      fail(400, "a header line is folded over several lines");
      return skipped;
    }
    const bool empty = line_size == 1;
    line_ = end + 1;
    scanned_ = 0;
    if (empty) break;
  }
  parser_ = std::make_unique<Message>(limits_.body_bytes);
  error_code error;
  std::size_t taken = 0;
  while (taken < line_ && !parser_->is_header_done() && !error) {
    taken += parser_->put(asio::buffer(bytes.data() + taken, line_ - taken), error);
  }
  if (error == http::error::body_limit) {
    fail(413, fmt::format("the request body is larger than {} bytes", limits_.body_bytes));
  } else if (error || !parser_->is_header_done()) {
    fail(400, fmt::format("malformed request head: {}", error.message()));
  } else {
    check_head();
  }
  return skipped + taken;
}

// What Beast lets pass, and a peer before us might understand in another way.
void RequestParser::check_head() {
  const ServerRequest& request = *parser_->request;
  if (request.target.size() > limits_.target_bytes) {
    return fail(414,
                fmt::format("the request target is longer than {} bytes", limits_.target_bytes));
  }
  int hosts = 0;
  int codings = 0;
  for (const auto& [name, value] : request.headers) {
    if (header_name_equals(name, "host")) ++hosts;
    if (header_name_equals(name, "transfer-encoding")) {
      ++codings;
      if (parser_->http_1_0 || !header_name_equals(value, "chunked")) {
        return fail(400, "the only Transfer-Encoding understood is chunked, in HTTP/1.1");
      }
    }
    if (header_name_equals(name, "expect")) {
      if (!header_name_equals(value, "100-continue")) {
        return fail(417, "the only expectation understood is 100-continue");
      }
      expects_continue_ = !parser_->http_1_0;
    }
  }
  if (hosts > 1 || (hosts == 0 && !parser_->http_1_0)) {
    return fail(400, "an HTTP/1.1 request has exactly one Host header");
  }
  if (codings > 1) return fail(400, "more than one Transfer-Encoding header");
  state_ = parser_->is_done() ? State::kDone : State::kBody;
}

std::size_t RequestParser::feed_body(std::string_view bytes) {
  error_code error;
  std::size_t taken = 0;
  while (taken < bytes.size() && !parser_->is_done() && !error) {
    taken += parser_->put(asio::buffer(bytes.data() + taken, bytes.size() - taken), error);
  }
  if (parser_->is_done()) {
    state_ = State::kDone;
  } else if (error == http::error::body_limit) {
    fail(413, fmt::format("the request body is larger than {} bytes", limits_.body_bytes));
  } else if (error && error != http::error::need_more) {
    fail(400, fmt::format("malformed request body: {}", error.message()));
  }
  return taken;
}

bool RequestParser::keep_alive() const { return parser_->keep_alive(); }

std::shared_ptr<ServerRequest> RequestParser::take_request() { return std::move(parser_->request); }

}  // namespace loadline::net
