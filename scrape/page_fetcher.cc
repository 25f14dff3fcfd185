#include "scrape/page_fetcher.h"

#include "net/http_client.h"
#include "scrape/exposition.h"
#include "scrape/redirect.h"

#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <cassert>
#include <charconv>
#include <optional>
#include <utility>

namespace loadline::scrape {
namespace {

namespace asio = boost::asio;

constexpr int kMostRedirects = 3;
constexpr std::size_t kHeadBytes = 16u << 10;
constexpr std::size_t kRedirectBodyBytes = 4096;  // a longer one is not worth the kept connection

net::Endpoint endpoint_of(const Target& target) {
  net::Endpoint endpoint;
  endpoint.host = target.host;
  endpoint.port = target.port;
  return endpoint;
}

net::HttpLimits limits_of(const Target& target) {
  net::HttpLimits limits;
  limits.connect_timeout = limits.head_timeout = limits.body_timeout = target.timeout;
  limits.head_bytes = kHeadBytes;
  limits.body_bytes = std::max<std::size_t>(target.body_bytes, 1);
  return limits;
}

// No gzip: it would cost the engine's CPU, which is the scarce one.
net::HttpRequest page_request(const std::string& path) {
  net::HttpRequest request("GET", path);
  request.headers.emplace_back("Accept", "text/plain;version=0.0.4;q=1,*/*;q=0.1");
  request.headers.emplace_back("User-Agent", "loadline");
  return request;
}

std::string header_of(const net::HttpResponseHead& head, std::string_view name) {
  const std::string* value = net::find_header(head.headers, name);
  return value == nullptr ? std::string() : *value;
}

PageFormat format_of(const std::string& content_type) {
  const std::string_view media_type =
      std::string_view(content_type).substr(0, content_type.find(';'));
  return net::header_name_equals(media_type, "application/openmetrics-text")
             ? PageFormat::kOpenMetrics
             : PageFormat::kText;
}

bool has_small_body(const net::HttpResponseHead& head) {
  const std::string length = header_of(head, "content-length");
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  return error == std::errc() && end == length.data() + length.size() &&
         bytes <= kRedirectBodyBytes;
}

}  // namespace

// Shared with the alarm, whose handler may run after the fetcher is gone.
struct PageFetcher::Connection {
  Connection(asio::any_io_executor executor, const Target& target)
      : client(std::move(executor), endpoint_of(target), limits_of(target)) {}

  net::HttpClient client;
  std::optional<ExpositionScanner> scanner;
  std::string redirect;  // the path to ask for next
  std::uint64_t fetches = 0;
  bool answered = false;  // a head has come
  bool expired = false;
  bool abandoned = false;
};

PageFetcher::PageFetcher(asio::any_io_executor executor, Target target, const Clock& clock)
    : target_(std::move(target)),
      clock_(clock),
      path_(target_.path),
      connection_(std::make_shared<Connection>(executor, target_)),
      alarm_(std::move(executor)) {
  assert(target_.wanted != nullptr);
}

PageFetcher::~PageFetcher() = default;

void PageFetcher::abandon() {
  connection_->abandoned = true;
  connection_->client.close();
}

asio::awaitable<ScrapeResult> PageFetcher::fetch() {
  const SteadyTime start = clock_.steady_now();
  result_ = ScrapeResult();
  result_.target_id = target_.id;
  set_alarm();
  co_await fetch_page();
  alarm_.cancel();
  ++connection_->fetches;  // an alarm that is under way already finds another number
  connection_->scanner.reset();

  if (!connection_->answered) {
    result_.time = clock_.steady_now();
    result_.wall_time = clock_.wall_now();
  }
  result_.duration_s = std::chrono::duration<double>(clock_.steady_now() - start).count();
  if (result_.failure != ScrapeFailure::kNone) path_ = target_.path;
  co_return std::move(result_);
}

void PageFetcher::set_alarm() {
  connection_->answered = connection_->expired = false;
  alarm_.expires_after(target_.timeout);
  alarm_.async_wait(
      [connection = connection_, fetch = connection_->fetches](boost::system::error_code error) {
        if (error || connection->fetches != fetch) return;
        connection->expired = true;
        connection->client.close();
      });
}

asio::awaitable<void> PageFetcher::fetch_page() {
  for (int redirects = 0; !connection_->abandoned; ++redirects) {
    co_await ask();
    if (connection_->redirect.empty()) co_return;
    if (redirects == kMostRedirects) {
      fail(ScrapeFailure::kHttpStatus, fmt::format("more than {} redirects", kMostRedirects));
      co_return;
    }
    path_ = std::exchange(connection_->redirect, {});
  }
}

// One request: fills the result, or `redirect`.
asio::awaitable<void> PageFetcher::ask() {
  Connection& connection = *connection_;
  connection.redirect.clear();
  connection.answered = false;
  net::BodySink sink;
  sink.on_head = [this](const net::HttpResponseHead& head) { return take_head(head); };
  sink.on_data = [this](std::string_view bytes) {
    if (!connection_->scanner) return true;
    connection_->scanner->feed(bytes);
    return result_.failure == ScrapeFailure::kNone;
  };
  auto request = page_request(path_);
  const auto status = co_await connection.client.stream(std::move(request), sink);

  if (result_.failure != ScrapeFailure::kNone) co_return;  // known before the end
  if (connection.expired || (!status && status.error().code == Code::kTimeout)) {
    fail(ScrapeFailure::kTimeout,
         fmt::format("the scrape took longer than {} ms", target_.timeout.count()));
  } else if (!status && status.error().code == Code::kTooLarge) {
    fail(ScrapeFailure::kTooLarge, status.error().message);
  } else if (!status) {
    const bool no_http = status.error().code == Code::kInternal;
    fail(connection.answered ? ScrapeFailure::kCutShort
         : no_http           ? ScrapeFailure::kProtocol
                             : ScrapeFailure::kConnect,
         status.error().message);
  } else if (connection.scanner) {
    connection.scanner->finish();
  }
}

// false: the body is not wanted.
bool PageFetcher::take_head(const net::HttpResponseHead& head) {
  connection_->answered = true;
  result_.time = clock_.steady_now();
  result_.wall_time = clock_.wall_now();
  if (head.status == 307 || head.status == 308) return take_redirect(head);
  if (head.status != 200) {
    fail(ScrapeFailure::kHttpStatus,
         fmt::format("GET {} was answered with status {}", path_, head.status));
    return false;
  }
  const std::string encoding = header_of(head, "content-encoding");
  if (!encoding.empty() && !net::header_name_equals(encoding, "identity")) {
    fail(ScrapeFailure::kNotMetrics,
         fmt::format("the page came {}-encoded, which was not asked for", encoding));
    return false;
  }
  const PageFormat format = format_of(header_of(head, "content-type"));
  connection_->scanner.emplace(*target_.wanted, result_, format);
  return true;
}

bool PageFetcher::take_redirect(const net::HttpResponseHead& head) {
  const std::string location = header_of(head, "location");
  auto next = redirect_target(target_.host, target_.port, path_, location);
  if (!next || location.empty()) {
    fail(ScrapeFailure::kHttpStatus,
         fmt::format("GET {} was redirected (status {}) to another scheme, host or port, which is "
                     "not followed: {:?}",
                     path_, head.status, location.substr(0, 200)));
    return false;
  }
  connection_->redirect = std::move(*next);
  return has_small_body(head);
}

// Never half a page.
void PageFetcher::fail(ScrapeFailure failure, std::string message) {
  connection_->scanner.reset();
  connection_->redirect.clear();
  result_.failure = failure;
  result_.message = std::move(message);
  result_.samples.clear();
  result_.labels.clear();
  result_.text.clear();
  result_.samples_on_page = 0;
  result_.duplicates = result_.refused_lines = 0;
}

}  // namespace loadline::scrape
