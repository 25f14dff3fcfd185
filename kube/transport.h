// One request to the Kubernetes API, as an interface: the real one speaks HTTPS, tests script
// answers.
#pragma once

#include "base/result.h"
#include "net/http_client.h"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace loadline::kube {

struct ApiResponse {
  int status = 0;
  std::string content_type;
  std::string body;
};

// Loop-bound.
class Transport {
 public:
  virtual ~Transport() = default;

  // GET or POST (with a JSON body). `accept` is the Accept header. An HTTP status is not an error
  // here.
  virtual boost::asio::awaitable<Result<ApiResponse>> request(std::string method,
                                                              std::string path_and_query,
                                                              std::string accept,
                                                              std::string json_body) = 0;

  // A watch: the body as it arrives, on a connection of its own, until it ends or on_data returns
  // false. The result is the HTTP status; a body that comes with a status other than 200 is handed
  // to on_error_body whole (bounded).
  struct StreamSink {
    std::function<void(const std::string& content_type)> on_open;  // status 200
    std::function<bool(std::string_view)> on_data;
    std::function<void(std::string body)> on_error_body;
  };
  virtual boost::asio::awaitable<Result<int>> stream(std::string path_and_query, std::string accept,
                                                     const StreamSink& sink) = 0;
};

}  // namespace loadline::kube
