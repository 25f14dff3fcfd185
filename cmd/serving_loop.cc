#include "cmd/serving_loop.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <fmt/format.h>

#include <utility>
#include <vector>

namespace loadline::cmd {

namespace asio = boost::asio;

namespace {

constexpr double kStuckAfterSeconds = 60;

std::vector<apiserver::HealthCheck> live_checks(const DataLoop& data) {
  auto turning = [&data]() -> Status {
    const double age = data.seconds_since_heartbeat();
    if (age < kStuckAfterSeconds) return {};
    return Error(Code::kUnavailable, fmt::format("the data loop has not turned for {:.0f} s", age));
  };
  return {{"data-loop", std::move(turning)}};
}

std::vector<apiserver::HealthCheck> ready_checks(
    const DataLoop& data, const Snapshot<apiserver::AuthenticationTrust>& trust,
    const std::atomic<bool>& draining) {
  auto shutdown = [&draining]() -> Status {
    if (!draining) return {};
    return Error(Code::kUnavailable, "shutting down");
  };
  auto authentication = [&trust]() -> Status {
    if (trust.get()->loaded) return {};
    return Error(Code::kUnavailable, "the authentication configuration has not been read yet");
  };
  auto pods = [&data]() -> Status {
    const auto view = data.view().get();
    if (view->pods_synced) return {};
    return Error(Code::kUnavailable,
                 view->problem.empty() ? "the pods have not been listed yet" : view->problem);
  };
  auto scrapes = [&data]() -> Status {
    if (data.view().get()->first_scrapes_done) return {};
    return Error(Code::kUnavailable, "the first round of scrapes has not ended yet");
  };
  return {{"shutdown", std::move(shutdown)},
          {"authentication-configuration", std::move(authentication)},
          {"informer-sync", std::move(pods)},
          {"first-scrapes", std::move(scrapes)}};
}

void write_queries(apiserver::MetricsPage& page, const provider::QueryMetrics& m) {
  page.family("loadline_metric_queries_total", apiserver::MetricType::kCounter,
              "Questions for metrics, by how they ended.");
  page.sample(static_cast<double>(m.served_total.value()), {{"outcome", "served"}});
  page.sample(static_cast<double>(m.unknown_metric_total.value()), {{"outcome", "unknown_metric"}});
  page.sample(static_cast<double>(m.no_pod_total.value()), {{"outcome", "no_pod"}});
  page.sample(static_cast<double>(m.left_out_total.value()), {{"outcome", "left_out"}});
  page.sample(static_cast<double>(m.not_synced_total.value()), {{"outcome", "not_synced"}});
}

}  // namespace

ServingLoop::ServingLoop(const DataLoop& data, const Clock& clock) : data_(data), clock_(clock) {}

ServingLoop::~ServingLoop() { stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<ServingLoop>> ServingLoop::create(
    const ServeOptions& options, const std::optional<kube::ClientConfig>& kubernetes,
    const DataLoop& data, const Clock& clock) {
  std::unique_ptr<ServingLoop> loop(new ServingLoop(data, clock));
  auto certificate = ServingCertificate::create(
      options, {"localhost", "loadline.loadline-system.svc", "127.0.0.1"});
  if (!certificate) return certificate.error();
  loop->certificate_ = std::move(*certificate);
  if (kubernetes) {
    auto api = kube::ApiClient::create(loop->loop_.get_executor(), clock, *kubernetes);
    if (!api) return api.error();
    loop->api_ = std::move(*api);
  }
  loop->trust_ = std::make_unique<FollowedTrust>(loop->api_.get(), options);
  if (!kubernetes) {
    if (auto loaded = loop->trust_->load_files(); !loaded) return loaded.error();
  }
  loop->make_access(options);
  loop->make_server(options);
  return loop;
}

void ServingLoop::make_access(const ServeOptions& options) {
  apiserver::DelegatedAuthenticator::Options authentication;
  authentication.anonymous = api_ != nullptr || options.anonymous_auth;
  authenticator_ = std::make_unique<apiserver::DelegatedAuthenticator>(
      trust_->current(), api_.get(), clock_, authentication);
  if (options.authorization_mode.value_or(AuthorizationMode::kWebhook) ==
      AuthorizationMode::kAlwaysAllow) {
    allow_all_ = std::make_unique<apiserver::AllowAll>();
    authorizer_ = allow_all_.get();
    return;
  }
  delegated_ = std::make_unique<apiserver::DelegatedAuthorizer>(
      api_.get(), clock_, apiserver::DelegatedAuthorizer::Options{});
  authorizer_ = delegated_.get();
}

void ServingLoop::make_server(const ServeOptions& options) {
  metrics_ = std::make_unique<provider::PodMetrics>(data_.view(), clock_);
  apiserver::ApiServer::Options server;
  server.version.git_version = "v" LOADLINE_VERSION;
  // Its discovery must be well-formed wherever somebody registers it (field case B01); there is no
  // external metric yet, and no APIService of ours asks for one.
  server.catalogue.external_enabled = true;
  server.live = live_checks(data_);
  server.ready = ready_checks(data_, trust_->current(), draining_);
  server.metrics = {[this](apiserver::MetricsPage& page) {
    write_metrics(page, https_->metrics());
    write_metrics(page, authenticator_->metrics());
    if (delegated_) write_metrics(page, delegated_->metrics());
    write_queries(page, metrics_->metrics());
    page.counter("loadline_serving_certificate_reloads_total",
                 "Serving certificates taken into use.", certificate_->reloads_total);
    page.counter("loadline_serving_certificate_reload_failures_total",
                 "Serving certificates refused.", certificate_->reload_failures_total);
    page.counter("loadline_authentication_configuration_reloads_total",
                 "Authentication configurations taken into use.", trust_->reloads_total);
    page.counter("loadline_authentication_configuration_reload_failures_total",
                 "Attempts to read the authentication configuration that failed.",
                 trust_->reload_failures_total);
    data_.write_metrics(page);
  }};
  api_server_ = std::make_unique<apiserver::ApiServer>(std::move(server), *metrics_,
                                                       *authenticator_, *authorizer_, clock_);
  net::HttpServer::Options https;
  https.bind_address = options.bind_address;
  https.port = options.secure_port;
  https.tls = [this] { return certificate_->current(); };
  https_ =
      std::make_unique<net::HttpServer>(loop_.get_executor(), std::move(https),
                                        api_server_->handler(), apiserver::ApiServer::on_error);
}

Status ServingLoop::start() {
  if (auto listening = https_->start(); !listening) return listening;
  tasks_.spawn("serving certificate", certificate_->follow());
  tasks_.spawn("authentication configuration", trust_->follow());
  thread_ = std::thread([this] { loop_.run(); });
  return {};
}

std::uint16_t ServingLoop::port() const { return https_->port(); }

asio::awaitable<void> ServingLoop::end(std::chrono::milliseconds most) {
  co_await https_->stop(most);
  tasks_.cancel();
  co_await tasks_.join();
  work_.reset();
}

void ServingLoop::stop(std::chrono::milliseconds most) {
  if (!thread_.joinable()) return;
  TaskGroup ending(loop_.get_executor());
  asio::post(loop_, [this, &ending, most] { ending.spawn("end of the serving loop", end(most)); });
  thread_.join();
}

}  // namespace loadline::cmd
