#include "apiserver/api_server.h"

#include "apiserver/list_options.h"
#include "apiserver/metric_name.h"
#include "apiserver/metric_value_list.h"
#include "apiserver/negotiation.h"
#include "apiserver/responses.h"
#include "base/log.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace loadline::apiserver {

namespace asio = boost::asio;

namespace {

constexpr std::string_view kNotFoundText = "404 page not found\n";

Document index_document(const std::vector<GroupVersion>& group_versions) {
  std::vector<std::string> paths = {"/apis",       "/healthz",    "/livez",  "/metrics",
                                    "/openapi/v2", "/openapi/v3", "/readyz", "/version"};
  for (const GroupVersion& gv : group_versions) {
    paths.push_back("/apis/" + gv.group);
    paths.push_back("/apis/" + gv.group + '/' + gv.version);
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  const nlohmann::json json = {{"paths", paths}};
  return make_document(json.dump(2) + '\n');
}

// "the server could not find the metric M for pods a with selector x=y", and why, where it is
// known.
Error metric_not_found(const RequestInfo& info, const std::string& selector,
                       const std::string& why) {
  std::string text =
      fmt::format("the server could not find the metric {} for {}", info.metric, info.resource);
  if (info.name != "*" || !selector.empty()) text += ' ' + info.name;
  if (!selector.empty()) text += " with selector " + selector;
  if (!why.empty()) text += ": " + why;
  return Error(Code::kNotFound, std::move(text));
}

std::size_t code_index(int http_status) {
  const auto& codes = RequestMetrics::kCodes;
  const auto found = std::find(codes.begin(), codes.end() - 1, http_status);
  return static_cast<std::size_t>(found - codes.begin());
}

bool is_indented(Route route) { return route == Route::kVersion || route == Route::kIndex; }

}  // namespace

void RequestMetrics::observe(Route route, int http_status, double seconds) {
  const auto index = static_cast<std::size_t>(route);
  requests[index][code_index(http_status)].add();
  durations[index].observe(seconds);
}

void RequestMetrics::write(MetricsPage& page) const {
  page.family("loadline_apiserver_requests_total", MetricType::kCounter,
              "Requests answered, by route and status.");
  for (std::size_t route = 0; route < kRoutes; ++route) {
    for (std::size_t i = 0; i < kCodes.size(); ++i) {
      const std::uint64_t count = requests[route][i].value();
      const std::string code = kCodes[i] == 0 ? std::string("other") : std::to_string(kCodes[i]);
      const std::string_view name = to_string(static_cast<Route>(route));
      if (count > 0) page.sample(static_cast<double>(count), {{"route", name}, {"code", code}});
    }
  }
  page.family("loadline_apiserver_request_duration_seconds", MetricType::kHistogram,
              "From the whole request to the whole answer, reviews included.");
  for (std::size_t route = 0; route < kRoutes; ++route) {
    if (durations[route].count() == 0) continue;
    durations[route].write(page, "route", to_string(static_cast<Route>(route)));
  }
}

ApiServer::ApiServer(Options options, const provider::MetricsProvider& provider,
                     Authenticator& authenticator, Authorizer& authorizer, const Clock& clock)
    : provider_(provider),
      authenticator_(authenticator),
      authorizer_(authorizer),
      clock_(clock),
      writers_(std::move(options.metrics)),
      discovery_(std::move(options.catalogue)),
      openapi_(discovery_.group_versions(), options.version),
      version_(version_document(options.version)),
      index_(index_document(discovery_.group_versions())),
      health_(std::move(options.live), std::move(options.ready)) {}

net::HttpHandler ApiServer::handler() {
  return [this](RequestPtr request) { return handle(std::move(request)); };
}

net::ServerResponse ApiServer::on_error(int http_status, const std::string& message) {
  net::ServerResponse response = status_response(status_of_http(http_status, message));
  add_common_headers(response, {});
  return response;
}

asio::awaitable<net::ServerResponse> ApiServer::handle(RequestPtr request) {
  const SteadyTime start = clock_.steady_now();
  net::ServerResponse response;
  Route route = Route::kUnknown;
  const std::string* pretty = nullptr;
  Result<RequestInfo> parsed = parse_request(request->method, request->target);
  std::shared_ptr<const RequestInfo> info;
  if (parsed) {
    info = std::make_shared<const RequestInfo>(std::move(*parsed));
    route = info->route;
    pretty = find_parameter(info->query, "pretty");
    response = co_await admit(request, info);
  } else {
    response = error_response(parsed.error());
  }
  if (!is_indented(route) && wants_pretty(pretty, request->headers)) make_pretty(response);
  add_common_headers(response, request->headers);
  const std::chrono::duration<double> took = clock_.steady_now() - start;
  metrics_.observe(route, response.status, took.count());
  co_return response;
}

asio::awaitable<net::ServerResponse> ApiServer::admit(RequestPtr request,
                                                      std::shared_ptr<const RequestInfo> info) {
  Result<kube::UserInfo> user = co_await authenticator_.authenticate(request);
  if (!user) {
    log_refusal("request not authenticated", user.error());
    co_return status_response(unauthorized_status());
  }
  std::string name = user->name;
  kube::AccessAttributes attributes = info->attributes;
  Result<kube::AccessDecision> decision =
      co_await authorizer_.authorize(std::move(*user), std::move(attributes));
  if (!decision) {
    log_refusal("no authorization decision", decision.error());
    co_return text_response(500, fmt::format("Internal Server Error: \"{}\": {}\n", request->target,
                                             decision.error().message));
  }
  if (!decision->allowed) {
    net::ServerResponse response =
        status_response(forbidden_status(name, info->attributes, decision->reason));
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    co_return response;
  }
  co_return serve(*request, *info);
}

// Refusals can be had by anyone, so they may not fill the log.
void ApiServer::log_refusal(std::string_view message, const Error& error) {
  const SteadyTime now = clock_.steady_now();
  if (now < next_refusal_log_) return;
  next_refusal_log_ = now + std::chrono::seconds(10);
  log_warning(message, kv("error", error.message));
}

bool ApiServer::is_served(const RequestInfo& info) const {
  switch (info.route) {
    case Route::kPodMetric:
    case Route::kObjectMetric:
    case Route::kNamespaceMetric:
    case Route::kExternalMetric:
    case Route::kShortPath:
    case Route::kGroupVersion:
    case Route::kOpenApiV3GroupVersion:
      return discovery_.serves(info.group, info.version);
    case Route::kGroup:
      return discovery_.serves(info.group);
    case Route::kUnknownInGroup:
    case Route::kUnknown:
      return false;
    default:
      return true;
  }
}

net::ServerResponse ApiServer::serve(const net::ServerRequest& request, const RequestInfo& info) {
  if (asks_for_upgrade(request.headers)) {
    return error_response(Error(Code::kBadRequest, "this server does not upgrade connections"));
  }
  if (!is_served(info)) {
    const bool elsewhere =
        info.route == Route::kUnknown || info.route == Route::kOpenApiV3GroupVersion;
    return elsewhere ? text_response(404, std::string(kNotFoundText))
                     : status_response(resource_not_found_status());
  }
  if (request.method != "GET" && request.method != "HEAD") {
    net::ServerResponse response = status_response(method_not_allowed_status());
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  switch (info.route) {
    case Route::kHealth:
      return serve_health(info);
    case Route::kMetrics:
      return serve_metrics_page();
    case Route::kPodMetric:
    case Route::kObjectMetric:
    case Route::kNamespaceMetric:
    case Route::kExternalMetric:
    case Route::kShortPath:
      if (!negotiate(accept_header(request.headers)))
        return status_response(not_acceptable_status());
      if (info.route == Route::kPodMetric) return serve_pod_metric(info);
      if (info.route == Route::kShortPath)
        return error_response(Error(Code::kBadRequest, "invalid request path"));
      return serve_other_metric(info);
    default:
      return serve_document(request, info);
  }
}

net::ServerResponse ApiServer::serve_document(const net::ServerRequest& request,
                                              const RequestInfo& info) const {
  const std::string accept = accept_header(request.headers);
  const bool json = negotiate(accept).has_value();
  const Document* document = nullptr;
  switch (info.route) {
    case Route::kGroupList:
      document = discovery_.groups(accept);
      break;
    case Route::kGroup:
      document = json ? discovery_.group(info.group) : nullptr;
      break;
    case Route::kGroupVersion:
      document = json ? discovery_.resources(info.group, info.version) : nullptr;
      break;
    case Route::kOpenApiV2:
    case Route::kOpenApiV3:
    case Route::kOpenApiV3GroupVersion:
      // kube-apiserver reads 404 as "there is none in this form", and 406 as a failure that it logs
      // for ever.
      if (!json) return text_response(404, std::string(kNotFoundText));
      document = info.route == Route::kOpenApiV2   ? &openapi_.v2()
                 : info.route == Route::kOpenApiV3 ? &openapi_.v3()
                                                   : openapi_.v3(info.group, info.version);
      break;
    case Route::kVersion:
      document = &version_;
      break;
    default:
      document = &index_;
  }
  if (document == nullptr) return status_response(not_acceptable_status());
  return document_response(*document, request.headers);
}

net::ServerResponse ApiServer::serve_pod_metric(const RequestInfo& info) const {
  if (const Status name = check_metric_name(info.metric); !name)
    return error_response(name.error());
  Result<ListOptions> options = parse_list_options(info);
  if (!options) return error_response(options.error());
  const Result<std::string> selector = label_selector_json(options->metric_labels);
  if (!selector) return error_response(selector.error());

  provider::PodMetricQuery query;
  query.namespace_name = info.namespace_name;
  query.pod = info.name;
  if (info.name == "*") query.labels = std::move(options->labels);
  query.metric = info.metric;
  const Result<std::vector<provider::PodMetricItem>> items = provider_.pod_metric(query);
  if (!items && items.error().code != Code::kNotFound) return error_response(items.error());
  const std::string selector_text = options->metric_labels.to_string();
  if (!items) return error_response(metric_not_found(info, selector_text, items.error().message));
  if (!options->metric_labels.matches({})) {
    return error_response(
        metric_not_found(info, selector_text, "metrics of pods carry no labels of their own"));
  }
  return json_response(200, pod_metric_list_json(*custom_version(info.version), info.namespace_name,
                                                 info.metric, *selector, *items));
}

net::ServerResponse ApiServer::serve_other_metric(const RequestInfo& info) const {
  if (const Status name = check_metric_name(info.metric); !name)
    return error_response(name.error());
  const Result<ListOptions> options = parse_list_options(info);
  if (!options) return error_response(options.error());
  if (info.route == Route::kObjectMetric) {
    return error_response(metric_not_found(info, options->metric_labels.to_string(), ""));
  }
  return error_response(Error(
      Code::kNotFound, fmt::format("the server could not find the {}metric {} for namespaces {}",
                                   info.route == Route::kExternalMetric ? "external " : "",
                                   info.metric, info.namespace_name)));
}

net::ServerResponse ApiServer::serve_health(const RequestInfo& info) {
  std::optional<HealthAnswer> answer = health_.answer(info.resource, info.name, info.query);
  if (!answer) return text_response(404, std::string(kNotFoundText));
  return text_response(answer->http_status, std::move(answer->text));
}

net::ServerResponse ApiServer::serve_metrics_page() const {
  MetricsPage page;
  metrics_.write(page);
  for (const MetricsWriter& writer : writers_) writer(page);
  net::ServerResponse response = json_response(200, page.take());
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

}  // namespace loadline::apiserver
