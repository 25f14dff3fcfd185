#include "kube/api_client.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace loadline::kube {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kMostErrorBody = 64u << 10;
// Below the 90 s after which an API server closes idle connections.
constexpr std::chrono::seconds kMostKept{60};
constexpr std::chrono::seconds kStreamGrace{5};

std::string content_type(const net::Headers& headers) {
  const std::string* value = net::find_header(headers, "Content-Type");
  return value == nullptr ? std::string() : *value;
}

// For messages: queries are long and say little.
std::string noun(const std::string& method, const std::string& path_and_query) {
  return method + " " + path_and_query.substr(0, path_and_query.find('?'));
}

net::Endpoint make_endpoint(const ClientConfig& config, net::TlsContext tls) {
  net::Endpoint endpoint;
  endpoint.host = config.host;
  endpoint.port = config.port;
  endpoint.tls = std::move(tls);
  endpoint.server_name = config.server_name;
  return endpoint;
}

// What came of a stream so far.
struct StreamProgress {
  int status = 0;
  std::string error_body;
};

net::BodySink make_sink(StreamProgress& progress, const Transport::StreamSink& sink) {
  net::BodySink body;
  body.on_head = [&](const net::HttpResponseHead& head) {
    progress.status = head.status;
    if (head.status == 200 && sink.on_open) sink.on_open(content_type(head.headers));
    return true;
  };
  body.on_data = [&](std::string_view part) {
    if (progress.status == 200) return sink.on_data(part);
    progress.error_body.append(part.substr(0, kMostErrorBody - progress.error_body.size()));
    return progress.error_body.size() < kMostErrorBody;
  };
  return body;
}

}  // namespace

// The right to use one of the connections; waited for first come, first served. Given back by the
// destructor.
class ApiClient::Turn {
 public:
  explicit Turn(ApiClient& client) : client_(client), timer_(client.executor_) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    std::erase(client_.waiting_, this);
    if (!granted_) return;
    if (client_.waiting_.empty()) {
      --client_.busy_;
      return;
    }
    Turn* next = client_.waiting_.front();
    client_.waiting_.pop_front();
    next->granted_ = true;
    next->timer_.cancel();
  }

  asio::awaitable<Status> wait() {
    if (client_.busy_ < client_.options_.connections) {
      ++client_.busy_;
      granted_ = true;
      co_return Status();
    }
    client_.waiting_.push_back(this);
    timer_.expires_after(client_.options_.queue_timeout);
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (granted_) co_return Status();
    co_return Error(Code::kTimeout, fmt::format("all {} connections to the Kubernetes API are busy",
                                                client_.options_.connections));
  }

 private:
  ApiClient& client_;
  asio::steady_timer timer_;
  bool granted_ = false;
};

Result<std::unique_ptr<ApiClient>> ApiClient::create(asio::any_io_executor executor,
                                                     const Clock& clock, ClientConfig config,
                                                     ApiClientOptions options) {
  net::TlsContext context;
  if (config.tls) {
    net::ClientTls tls;
    tls.ca_pem = config.ca_pem;
    tls.insecure_skip_verify = config.insecure_skip_verify;
    tls.certificate_pem = config.certificate_pem;
    tls.key_pem = config.key_pem;
    auto made = net::make_client_context(tls);
    if (!made) {
      return with_context(fmt::format("TLS to the Kubernetes API at {}", config.host),
                          std::move(made).error());
    }
    context = std::move(*made);
  }
  return std::unique_ptr<ApiClient>(new ApiClient(std::move(executor), clock, std::move(config),
                                                  std::move(context), std::move(options)));
}

ApiClient::ApiClient(asio::any_io_executor executor, const Clock& clock, ClientConfig config,
                     net::TlsContext tls, ApiClientOptions options)
    : executor_(std::move(executor)),
      clock_(clock),
      options_(std::move(options)),
      path_prefix_(config.path_prefix),
      endpoint_(make_endpoint(config, std::move(tls))),
      token_(clock, std::move(config.token), std::move(config.token_file)) {}

ApiClient::~ApiClient() = default;

net::HttpRequest ApiClient::make_request(const std::string& method,
                                         const std::string& path_and_query,
                                         const std::string& accept,
                                         const std::string& token) const {
  net::HttpRequest request(method, path_prefix_ + path_and_query);
  request.headers.emplace_back("Accept", accept);
  request.headers.emplace_back("User-Agent", "loadline/" LOADLINE_VERSION);
  if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
  return request;
}

std::unique_ptr<net::HttpClient> ApiClient::make_client(const net::HttpLimits& limits) const {
  return std::make_unique<net::HttpClient>(executor_, endpoint_, limits);
}

std::unique_ptr<net::HttpClient> ApiClient::take_kept() {
  const SteadyTime oldest = clock_.steady_now() - kMostKept;
  std::erase_if(kept_, [&](const Kept& kept) { return kept.since < oldest; });
  if (kept_.empty()) return nullptr;
  auto client = std::move(kept_.back().client);
  kept_.pop_back();
  return client;
}

asio::awaitable<Result<net::HttpResponse>> ApiClient::exchange(net::HttpRequest request) {
  Turn turn(*this);
  auto granted = co_await turn.wait();
  if (!granted) co_return std::move(granted).error();

  auto client = take_kept();
  const bool was_kept = client != nullptr;
  if (!was_kept) client = make_client(options_.limits);
  net::HttpRequest again = request;
  auto response = co_await client->request(std::move(request));
  // For GET the client below has done this itself.
  if (!response && was_kept && again.method != "GET" &&
      response.error().code == Code::kUnavailable) {
    client->close();
    response = co_await client->request(std::move(again));
  }
  if (response && client->connected()) {
    Kept kept;
    kept.client = std::move(client);
    kept.since = clock_.steady_now();
    kept_.push_back(std::move(kept));
  }
  co_return response;
}

asio::awaitable<Result<ApiResponse>> ApiClient::request(std::string method,
                                                        std::string path_and_query,
                                                        std::string accept, std::string json_body) {
  for (bool first = true;; first = false) {
    const auto token = token_.get();
    if (!token) co_return with_context(noun(method, path_and_query), token.error());
    net::HttpRequest request = make_request(method, path_and_query, accept, *token);
    if (!json_body.empty()) {
      request.headers.emplace_back("Content-Type", "application/json");
      request.body = json_body;
    }
    auto response = co_await exchange(std::move(request));
    if (!response)
      co_return with_context(noun(method, path_and_query), std::move(response).error());
    if (response->status == 401 && first && token_.replaced(*token)) continue;
    ApiResponse answer;
    answer.status = response->status;
    answer.content_type = content_type(response->headers);
    answer.body = std::move(response->body);
    co_return answer;
  }
}

net::HttpLimits ApiClient::stream_limits(const std::string& path_and_query) const {
  net::HttpLimits limits = options_.limits;
  limits.body_timeout = std::chrono::milliseconds(0);
  limits.body_bytes = std::numeric_limits<std::size_t>::max();
  limits.idle_timeout = options_.stream_idle_timeout;
  constexpr std::string_view kLife = "timeoutSeconds=";
  if (const std::size_t at = path_and_query.find(kLife); at != std::string::npos) {
    unsigned seconds = 0;
    const char* end = path_and_query.data() + path_and_query.size();
    const auto parsed = std::from_chars(path_and_query.data() + at + kLife.size(), end, seconds);
    if (parsed.ec == std::errc()) {
      limits.idle_timeout = std::min<std::chrono::milliseconds>(
          limits.idle_timeout, std::chrono::seconds(seconds) + kStreamGrace);
    }
  }
  return limits;
}

asio::awaitable<Result<int>> ApiClient::stream(std::string path_and_query, std::string accept,
                                               const StreamSink& sink) {
  for (bool first = true;; first = false) {
    const auto token = token_.get();
    if (!token) co_return with_context(noun("watch", path_and_query), token.error());
    const auto client = make_client(stream_limits(path_and_query));
    net::HttpRequest request = make_request("GET", path_and_query, accept, *token);
    StreamProgress progress;
    const net::BodySink body = make_sink(progress, sink);
    auto status = co_await client->stream(std::move(request), body);
    if (progress.status == 401 && first && token_.replaced(*token)) continue;
    // A refusal stays one even where its body was cut short.
    if (progress.status != 0 && progress.status != 200) {
      if (sink.on_error_body) sink.on_error_body(std::move(progress.error_body));
      co_return progress.status;
    }
    if (!status) co_return with_context(noun("watch", path_and_query), std::move(status).error());
    co_return *status;
  }
}

}  // namespace loadline::kube
