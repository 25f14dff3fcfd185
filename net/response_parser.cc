#include "net/response_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include <limits>

namespace loadline::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

namespace {

std::string_view view(string_view text) { return {text.data(), text.size()}; }

}  // namespace

class ResponseParser::Message final : public http::basic_parser<false> {
 public:
  Message(const BodySink& sink, std::size_t body_bytes, bool head_only) : sink_(sink) {
    header_limit(std::numeric_limits<std::uint32_t>::max());  // feed_head bounds it
    if (body_bytes == 0) {
      body_limit(boost::none);
    } else {
      body_limit(body_bytes);
    }
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
    if (!in_trailers_) head_.headers.emplace_back(view(name), view(value));
  }
  void on_header_impl(error_code& error) override {
    in_trailers_ = true;
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
  bool in_trailers_ = false;
  bool unwanted_ = false;
};

ResponseParser::ResponseParser(const BodySink& sink, const HttpLimits& limits, bool head_only)
    : sink_(sink),
      head_bytes_(limits.head_bytes),
      body_bytes_(limits.body_bytes),
      head_only_(head_only) {}

ResponseParser::~ResponseParser() = default;

bool ResponseParser::done() const {
  return head_done_ && (message_->is_done() || message_->unwanted());
}
bool ResponseParser::keep_alive() const {
  return head_done_ && message_->is_done() && !message_->unwanted() && message_->keep_alive() &&
         message_->status() != 101;
}
int ResponseParser::status() const { return head_done_ ? message_->status() : 0; }

std::size_t ResponseParser::feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (!head_done_ && !failure_) {
    const std::size_t n = feed_head(bytes.substr(taken));
    if (n == 0) return taken;
    taken += n;
  }
  if (!failure_ && !done()) taken += put(bytes.substr(taken));
  return taken;
}

// The whole head, or nothing.
std::size_t ResponseParser::feed_head(std::string_view bytes) {
  constexpr std::string_view kHttp = "HTTP/";
  if (!bytes.empty() && (bytes[0] == '\x15' || bytes[0] == '\x16')) {
    failure_.emplace(Code::kInternal, "the answer is not HTTP but TLS; does the port want https?");
    return 0;
  }
  if (bytes.substr(0, kHttp.size()) != kHttp.substr(0, bytes.size())) {
    failure_.emplace(Code::kInternal, "the answer is not HTTP/1.1");
    return 0;
  }
  const std::size_t end = bytes.find("\r\n\r\n", searched_);
  const std::size_t size = end == bytes.npos ? bytes.size() : end + 4;
  if (size > head_bytes_) {
    failure_.emplace(Code::kTooLarge,
                     fmt::format("the response head is larger than {} bytes", head_bytes_));
    return 0;
  }
  if (end == bytes.npos) {
    searched_ = size < 3 ? 0 : size - 3;
    return 0;
  }
  searched_ = 0;
  message_ = std::make_unique<Message>(sink_, body_bytes_, head_only_);
  // Not eager yet: an interim head is followed by another head and not by a body.
  const std::size_t taken = put(bytes.substr(0, size));
  message_->eager(true);
  head_done_ = !failure_ && !message_->interim();
  return taken;
}

std::size_t ResponseParser::put(std::string_view bytes) {
  error_code error;
  std::size_t taken = 0;
  while (taken < bytes.size() && !message_->is_done() && !error) {
    taken += message_->put(asio::buffer(bytes.data() + taken, bytes.size() - taken), error);
  }
  if (!error || error == http::error::need_more || message_->unwanted()) return taken;
  if (error == http::error::body_limit) {
    failure_.emplace(Code::kTooLarge,
                     fmt::format("the response body is larger than {} bytes", body_bytes_));
  } else {
    failure_.emplace(Code::kInternal, "malformed response: " + error.message());
  }
  return taken;
}

bool ResponseParser::feed_end() {
  if (!head_done_ || failure_ || message_->is_done() || !message_->need_eof()) return false;
  error_code ignored;
  message_->put_eof(ignored);
  return true;
}

}  // namespace loadline::net
