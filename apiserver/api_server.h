// The metrics API: one handler for everything that the HTTPS server reads. Request info,
// authentication, authorization, negotiation, route, in this order, so that who may not know gets
// 403 for paths that do not exist. Serving loop only. Waits for nothing but uncached reviews:
// answers come from the provider's newest view.
#pragma once

#include "apiserver/authenticator.h"
#include "apiserver/authorizer.h"
#include "apiserver/discovery.h"
#include "apiserver/health.h"
#include "apiserver/metrics_page.h"
#include "apiserver/openapi.h"
#include "apiserver/request_info.h"
#include "apiserver/status.h"
#include "base/clock.h"
#include "net/http_server.h"
#include "provider/metrics_provider.h"

#include <boost/asio/awaitable.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace loadline::apiserver {

// By route and HTTP status. Thread-safe.
struct RequestMetrics {
  static constexpr std::array<int, 11> kCodes = {200, 304, 400, 401, 403, 404,
                                                 405, 406, 500, 503, 0};  // 0: others

  void observe(Route route, int http_status, double seconds);
  void write(MetricsPage& page) const;

  std::array<std::array<Counter, kCodes.size()>, kRoutes> requests;
  std::array<DurationHistogram, kRoutes> durations;
};

class ApiServer {
 public:
  struct Options {
    VersionInfo version;
    MetricCatalogue catalogue = pod_metric_catalogue();
    std::vector<HealthCheck> live, ready;
    std::vector<MetricsWriter> metrics;  // the families of other components
  };

  // All must outlive this.
  ApiServer(Options options, const provider::MetricsProvider& provider,
            Authenticator& authenticator, Authorizer& authorizer, const Clock& clock);

  boost::asio::awaitable<net::ServerResponse> handle(
      std::shared_ptr<const net::ServerRequest> request);

  // handle(), for a net::HttpServer that this outlives.
  net::HttpHandler handler();

  // A Status for what never reached the handler.
  static net::ServerResponse on_error(int http_status, const std::string& message);

  const RequestMetrics& metrics() const { return metrics_; }

 private:
  using RequestPtr = std::shared_ptr<const net::ServerRequest>;

  boost::asio::awaitable<net::ServerResponse> admit(RequestPtr request,
                                                    std::shared_ptr<const RequestInfo> info);
  bool is_served(const RequestInfo& info) const;
  net::ServerResponse serve(const net::ServerRequest& request, const RequestInfo& info);
  net::ServerResponse serve_document(const net::ServerRequest& request,
                                     const RequestInfo& info) const;
  net::ServerResponse serve_pod_metric(const RequestInfo& info) const;
  net::ServerResponse serve_other_metric(const RequestInfo& info) const;
  net::ServerResponse serve_health(const RequestInfo& info);
  net::ServerResponse serve_metrics_page() const;
  void log_refusal(std::string_view message, const Error& error);

  const provider::MetricsProvider& provider_;
  Authenticator& authenticator_;
  Authorizer& authorizer_;
  const Clock& clock_;
  std::vector<MetricsWriter> writers_;
  Discovery discovery_;
  OpenApi openapi_;
  Document version_, index_;
  Health health_;
  RequestMetrics metrics_;
  SteadyTime next_refusal_log_{};
};

}  // namespace loadline::apiserver
