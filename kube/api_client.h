// The Transport that speaks HTTP(S) to a Kubernetes API server. Requests share a few kept
// connections, each stream has one of its own. A token file is read anew every 10 s and, after a
// 401, at once with one more attempt. Loop-bound: every call on the executor's thread. Must outlive
// its calls; the clock must outlive it.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "kube/bearer_token.h"
#include "kube/client_config.h"
#include "kube/transport.h"
#include "net/http_client.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace loadline::kube {

struct ApiClientOptions {
  std::size_t connections = 4;  // for requests; what comes beyond waits its turn
  // To connect 5 s; 10 s each for the turn, the head and the body.
  std::chrono::milliseconds queue_timeout{10'000};
  net::HttpLimits limits;
  // Silence on a stream that ends it. An API server sends a bookmark about once a minute, so less
  // would cut quiet watches. A watch that asks for a shorter life (timeoutSeconds=N) is given up 5
  // s after that, so N = 50 notices a connection that died in silence within a minute.
  std::chrono::milliseconds stream_idle_timeout{90'000};
};

class ApiClient final : public Transport {
 public:
  // Dials nothing yet. Errors: TLS material that cannot be used.
  static Result<std::unique_ptr<ApiClient>> create(boost::asio::any_io_executor executor,
                                                   const Clock& clock, ClientConfig config,
                                                   ApiClientOptions options = {});
  ~ApiClient() override;

  // POST may be sent twice when a kept connection turns out to be closed: only reviews are posted,
  // which change nothing.
  boost::asio::awaitable<Result<ApiResponse>> request(std::string method,
                                                      std::string path_and_query,
                                                      std::string accept,
                                                      std::string json_body) override;

  // on_error_body gets at most 64 KiB.
  boost::asio::awaitable<Result<int>> stream(std::string path_and_query, std::string accept,
                                             const StreamSink& sink) override;

 private:
  class Turn;
  struct Kept {
    std::unique_ptr<net::HttpClient> client;
    SteadyTime since;
  };

  ApiClient(boost::asio::any_io_executor executor, const Clock& clock, ClientConfig config,
            net::TlsContext tls, ApiClientOptions options);

  net::HttpRequest make_request(const std::string& method, const std::string& path_and_query,
                                const std::string& accept, const std::string& token) const;
  std::unique_ptr<net::HttpClient> make_client(const net::HttpLimits& limits) const;
  std::unique_ptr<net::HttpClient> take_kept();
  boost::asio::awaitable<Result<net::HttpResponse>> exchange(net::HttpRequest request);
  net::HttpLimits stream_limits(const std::string& path_and_query) const;

  const boost::asio::any_io_executor executor_;
  const Clock& clock_;
  const ApiClientOptions options_;
  const std::string path_prefix_;
  const net::Endpoint endpoint_;
  BearerToken token_;
  std::vector<Kept> kept_;  // the newest last
  std::size_t busy_ = 0;
  std::deque<Turn*> waiting_;
};

}  // namespace loadline::kube
