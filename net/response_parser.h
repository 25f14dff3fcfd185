// From bytes to one HTTP response, its body handed to a BodySink as views into the caller's buffer.
// Pure but for the sink; not thread-safe. Interim responses (1xx but 101) are skipped.
#pragma once

#include "base/result.h"
#include "net/http_client.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace loadline::net {

class ResponseParser {
 public:
  // The sink must outlive the parser. head_only: the answer to HEAD.
  ResponseParser(const BodySink& sink, const HttpLimits& limits, bool head_only);
  ~ResponseParser();

  // Takes from the front of `bytes` and returns how many. What it leaves, the next call must begin
  // with. After a failure or the end nothing more may be fed.
  std::size_t feed(std::string_view bytes);
  // The connection has ended properly. True when that ends the body, which has no length.
  bool feed_end();

  // kTooLarge, or kInternal: malformed.
  const std::optional<Error>& failure() const { return failure_; }
  bool head_done() const { return head_done_; }
  // Complete, or the sink does not want the rest.
  bool done() const;
  // Complete, and the connection can be used again.
  bool keep_alive() const;
  int status() const;

 private:
  class Message;  // Beast's parser
  std::size_t feed_head(std::string_view bytes);
  std::size_t put(std::string_view bytes);

  const BodySink& sink_;
  const std::size_t head_bytes_, body_bytes_;
  const bool head_only_;
  std::unique_ptr<Message> message_;
  std::optional<Error> failure_;
  std::size_t searched_ = 0;  // bytes known not to begin the end of the head
  bool head_done_ = false;
};

}  // namespace loadline::net
