#include "cmd/demo.h"

#include "base/file.h"
#include "base/log.h"
#include "cmd/data_loop.h"
#include "cmd/demo_table.h"
#include "cmd/serving_loop.h"
#include "cmd/simulated_fleet.h"
#include "net/http_client.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <unistd.h>
#include <vector>

namespace loadline::cmd {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kDefaultDuration = std::chrono::minutes(2);
constexpr double kLoadPeriodSeconds = 60;
// What one of demo_engine()'s engines completes at most, roughly: the load swings between a tenth
// and somewhat above it.
constexpr double kEngineRequestsPerSecond = 4;
constexpr const char* kQuestion =
    "/apis/custom.metrics.k8s.io/v1beta2/namespaces/demo/pods/*/"
    "inference_requests_in_flight?labelSelector=app%3Dengine";

// A folder that goes when the demo ends.
class Folder {
 public:
  static Result<Folder> create() {
    std::string path = (std::filesystem::temp_directory_path() / "loadline-demo-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return Error(Code::kBadRequest, "cannot make a folder like " + path +
                                          "; set TMPDIR to a folder that can be written");
    }
    return Folder(std::move(path));
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// What `kubectl get pods -o json` would print for engines at these addresses.
std::string pod_list(const std::vector<std::string>& addresses) {
  nlohmann::json items = nlohmann::json::array();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::size_t colon = addresses[i].rfind(':');
    items.push_back({{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"metadata",
                      {{"name", fmt::format("engine-{}", i)},
                       {"namespace", "demo"},
                       {"uid", fmt::format("demo-{}", i)},
                       {"labels", {{"app", "engine"}}},
                       {"annotations",
                        {{"prometheus.io/scrape", "true"},
                         {"prometheus.io/port", addresses[i].substr(colon + 1)}}}}},
                     {"status",
                      {{"phase", "Running"},
                       {"podIP", addresses[i].substr(0, colon)},
                       {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
  }
  return nlohmann::json({{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}})
      .dump(1);
}

ServeOptions server_options(const DemoOptions& options, const std::string& pods_file) {
  ServeOptions serve;
  serve.pods_file = pods_file;
  serve.bind_address = "127.0.0.1";
  serve.secure_port = options.secure_port;
  serve.scrape_interval = serve.scrape_timeout = std::chrono::seconds(1);
  serve.anonymous_auth = true;
  serve.authorization_mode = AuthorizationMode::kAlwaysAllow;
  return serve;
}

// The demo's own loop: the engines, the screen and the question.
class Demo {
 public:
  Demo(const DemoOptions& options, std::ostream& out, asio::io_context& loop)
      : options_(options), out_(out), loop_(loop), fleet_(loop.get_executor(), system_clock()) {}

  Status prepare(const Folder& folder);
  // Shows and asks, where it was prepared; ends the engines and the signals' wait.
  asio::awaitable<void> run(bool prepared, asio::signal_set& signals);
  void stop_showing() { showing_.cancel(); }
  void stop_servers();
  const Status& outcome() const { return outcome_; }

 private:
  asio::awaitable<void> show(std::chrono::milliseconds duration);
  asio::awaitable<void> ask();
  void draw(double since_start_s);

  const DemoOptions& options_;
  std::ostream& out_;
  asio::io_context& loop_;
  SimulatedFleet fleet_;
  TaskGroup showing_{loop_.get_executor()};
  std::unique_ptr<DataLoop> data_;
  std::unique_ptr<ServingLoop> serving_;
  std::string ca_file_;
  DemoTable table_;
  bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
  Status outcome_;
};

Status Demo::prepare(const Folder& folder) {
  std::vector<std::string> addresses;
  for (int i = 0; i < options_.engines; ++i) {
    auto address = fleet_.add("127.0.0.1:0");
    if (!address) return address.error();
    addresses.push_back(*address);
  }
  const double most = kEngineRequestsPerSecond * options_.engines;
  fleet_.set_rate([most](double t) {
    return most * (0.1 + 0.5 * (1 - std::cos(2 * std::numbers::pi * t / kLoadPeriodSeconds)));
  });
  const std::string pods_file = folder.file("pods.json");
  if (auto written = write_file(pods_file, pod_list(addresses)); !written) return written;

  const ServeOptions serve = server_options(options_, pods_file);
  auto data = DataLoop::create(serve, std::nullopt, system_clock());
  if (!data) return data.error();
  data_ = std::move(*data);
  auto serving = ServingLoop::create(serve, std::nullopt, *data_, system_clock());
  if (!serving) return serving.error();
  serving_ = std::move(*serving);
  if (auto listening = serving_->start(); !listening) return listening;
  data_->start();
  ca_file_ = folder.file("ca.crt");
  return write_file(ca_file_, serving_->self_signed_pem());
}

void Demo::draw(double since_start_s) {
  if (terminal_) out_ << "\x1b[H\x1b[2J";
  out_ << fmt::format(
              "loadline demo, {:.0f} s: {} simulated vLLM engines, {:.0f} requests sent, load "
              "rises and falls each {:.0f} s\n\n",
              since_start_s, options_.engines, static_cast<double>(fleet_.counters().routed),
              kLoadPeriodSeconds)
       << table_.render(*data_->view().get(), system_clock().steady_now())
       << fmt::format("\nAsk as an HPA does:\n  curl --cacert {} 'https://127.0.0.1:{}{}'\n\n",
                      ca_file_, serving_->port(), kQuestion)
       << std::flush;
}

asio::awaitable<void> Demo::show(std::chrono::milliseconds duration) {
  const SteadyTime start = system_clock().steady_now();
  asio::steady_timer timer(loop_);
  for (;;) {
    const SteadyTime now = system_clock().steady_now();
    draw(std::chrono::duration<double>(now - start).count());
    if (now - start >= duration) break;
    const auto pause = std::min<SteadyTime::duration>(std::chrono::seconds(terminal_ ? 1 : 5),
                                                      duration - (now - start));
    timer.expires_after(pause);
    const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error || !out_) break;  // a signal, or nobody reads
  }
}

asio::awaitable<void> Demo::ask() {
  net::ClientTls tls;
  tls.ca_pem = serving_->self_signed_pem();
  auto context = net::make_client_context(tls);
  if (!context) {
    outcome_ = context.error();
    co_return;
  }
  net::Endpoint endpoint;
  endpoint.host = "127.0.0.1";
  endpoint.port = serving_->port();
  endpoint.tls = *context;
  net::HttpClient client(loop_.get_executor(), std::move(endpoint), net::HttpLimits{});
  net::HttpRequest request("GET", kQuestion);
  request.headers.emplace_back("Accept", "application/json");
  const auto response = co_await client.request(std::move(request));
  if (!response) {
    outcome_ = with_context("asking as an HPA does", response.error());
    co_return;
  }
  out_ << fmt::format("Asked as an HPA does, answered {}:\n  {}\n", response->status,
                      response->body)
       << std::flush;
  const auto body = nlohmann::json::parse(response->body, nullptr, false);
  if (response->status != 200 || !body.is_object() ||
      body["items"].size() != static_cast<std::size_t>(options_.engines)) {
    outcome_ = Error(Code::kInternal, fmt::format("expected 200 with {} items", options_.engines));
  }
}

asio::awaitable<void> Demo::run(bool prepared, asio::signal_set& signals) {
  if (prepared) {
    showing_.spawn("table",
                   show(options_.duration.count() > 0 ? options_.duration : kDefaultDuration));
    co_await showing_.join();
    if (data_->view().get()->first_scrapes_done) {
      co_await ask();
    } else {
      out_ << "Ended before the first scrapes did: nothing to ask for yet.\n" << std::flush;
    }
  }
  co_await fleet_.stop();
  signals.cancel();
}

void Demo::stop_servers() {
  if (serving_) serving_->stop(std::chrono::seconds(2));
  if (data_) data_->stop();
}

}  // namespace

Status demo(const DemoOptions& options, std::ostream& out) {
  set_log_level(LogLevel::kWarning);
  auto folder = Folder::create();
  if (!folder) return folder.error();
  asio::io_context loop(1);
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  TaskGroup tasks(loop.get_executor());
  Demo demo(options, out, loop);
  Status prepared = demo.prepare(*folder);

  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) demo.stop_showing();
  });
  tasks.spawn("demo", demo.run(prepared.has_value(), signals));
  loop.run();
  demo.stop_servers();
  return prepared ? demo.outcome() : prepared;
}

}  // namespace loadline::cmd
