// From bytes to one HTTP request, strictly: what two parsers could read in two ways is refused.
// Pure; not thread-safe. Linear in the bytes fed, as long as each feed() begins where the one
// before stopped.
#pragma once

#include "net/http_server.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace loadline::net {

class RequestParser {
 public:
  enum class State {
    kHead,    // wants more, the head is not complete
    kBody,    // wants more, the head is
    kDone,    // request() is complete; the bytes after it are the next one's
    kFailed,  // status() and message(): answer and close
  };

  explicit RequestParser(const ServerLimits& limits);
  ~RequestParser();

  // Takes from the front of `bytes` and returns how many. What it leaves, the next call must begin
  // with.
  std::size_t feed(std::string_view bytes);

  State state() const { return state_; }
  int status() const { return status_; }
  const std::string& message() const { return message_; }

  // Of a complete head.
  bool keep_alive() const;
  bool expects_continue() const { return expects_continue_; }

  // Of a complete request; once.
  std::shared_ptr<ServerRequest> take_request();

 private:
  class Message;  // Beast's parser, filled into a ServerRequest
  std::size_t feed_head(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  void check_head();
  void fail(int status, std::string message);

  const ServerLimits limits_;
  State state_ = State::kHead;
  int status_ = 0;
  std::string message_;
  bool expects_continue_ = false;
  std::size_t line_ = 0;     // where the first line not yet looked at begins
  std::size_t scanned_ = 0;  // bytes of it known to hold no line end
  std::unique_ptr<Message> parser_;
};

}  // namespace loadline::net
