#include "cmd/data_loop.h"

#include "kube/pod_file.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <map>
#include <random>
#include <utility>

namespace loadline::cmd {

namespace asio = boost::asio;

DataLoop::DataLoop(const ServeOptions& options, const Clock& clock)
    : clock_(clock), heartbeat_s_(to_seconds(clock.steady_now())) {
  std::vector<provider::EngineProfile> profiles = provider::built_in_profiles();
  provider::CollectorConfig config;
  config.discovery = provider::discovery_config(profiles);
  config.discovery.interval = options.scrape_interval;
  config.discovery.timeout = options.scrape_timeout;
  scraper_ = std::make_unique<scrape::Scraper>(
      loop_.get_executor(), clock_,
      [this](std::shared_ptr<const scrape::ScrapeResult> page) { collector_->on_scrape(page); });
  collector_ = std::make_unique<provider::Collector>(
      std::move(config), std::move(profiles), clock_, view_,
      [this](std::vector<scrape::Target> targets) { scraper_->set_targets(std::move(targets)); });
}

DataLoop::~DataLoop() { stop(); }

Result<std::unique_ptr<DataLoop>> DataLoop::create(
    const ServeOptions& options, const std::optional<kube::ClientConfig>& kubernetes,
    const Clock& clock) {
  std::unique_ptr<DataLoop> loop(new DataLoop(options, clock));
  if (!kubernetes) {
    const auto pods = kube::load_pod_file(options.pods_file);
    if (!pods) return pods.error();
    loop->pods_ = std::make_unique<kube::PodFile>(options.pods_file);
    return loop;
  }
  auto api = kube::ApiClient::create(loop->loop_.get_executor(), clock, *kubernetes);
  if (!api) return api.error();
  loop->api_ = std::move(*api);
  kube::PodInformer::Options informer;
  informer.seed = std::random_device{}();
  auto source = std::make_unique<kube::PodInformer>(*loop->api_, clock, std::move(informer));
  loop->informer_ = source.get();
  loop->pods_ = std::move(source);
  return loop;
}

void DataLoop::start() {
  auto on_pods = [this](const std::shared_ptr<const kube::PodSet>& pods) {
    collector_->on_pods(pods);
  };
  tasks_.spawn("pods", pods_->run(std::move(on_pods)));
  tasks_.spawn("heartbeat", beat());
  thread_ = std::thread([this] { loop_.run(); });
}

asio::awaitable<void> DataLoop::beat() {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  for (;;) {
    heartbeat_s_ = to_seconds(clock_.steady_now());
    timer.expires_after(std::chrono::seconds(1));
    const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
  }
}

asio::awaitable<void> DataLoop::end() {
  co_await tasks_.join();
  co_await scraper_->stop();
  work_.reset();
}

void DataLoop::stop() {
  if (!thread_.joinable()) return;
  TaskGroup ending(loop_.get_executor());
  asio::post(loop_, [this, &ending] {
    tasks_.cancel();
    ending.spawn("end of the data loop", end());
  });
  thread_.join();
}

double DataLoop::seconds_since_heartbeat() const {
  return to_seconds(clock_.steady_now()) - heartbeat_s_;
}

void DataLoop::write_metrics(apiserver::MetricsPage& page) const {
  const scrape::ScraperMetrics& s = scraper_->metrics();
  page.gauge("loadline_scrape_targets", "Pods that are scraped.", s.targets.value());
  page.counter("loadline_scrapes_total", "Scrapes ended, good or failed.", s.scrapes_total);
  page.counter("loadline_scrape_failures_total", "Scrapes that failed.", s.failures_total);
  page.counter("loadline_scraped_bytes_total", "Bytes of pages read.", s.bytes_total);
  page.counter("loadline_scraped_samples_total", "Samples on pages read.", s.samples_total);
  page.counter("loadline_scraped_duplicates_total",
               "Series that stood twice on a page; the first counts.", s.duplicates_total);
  page.counter("loadline_scraped_refused_lines_total", "Malformed lines on pages.",
               s.refused_lines_total);
  if (informer_ != nullptr) {
    const kube::PodInformerMetrics& p = informer_->metrics();
    page.counter("loadline_pod_lists_total", "Lists of pods asked of the Kubernetes API.",
                 p.lists_total);
    page.counter("loadline_pod_list_failures_total", "Lists of pods that failed.",
                 p.list_failures_total);
    page.counter("loadline_pod_watches_total", "Watches of pods opened.", p.watches_total);
    page.counter("loadline_pod_watch_failures_total", "Watches of pods that failed.",
                 p.watch_failures_total);
    page.counter("loadline_pod_watch_events_total", "Events of watches read.",
                 p.watch_events_total);
    page.counter("loadline_pods_malformed_total", "Pods that could not be decoded.",
                 p.malformed_pods_total);
  }
  const auto view = view_.get();
  std::map<std::string_view, double> by_reason;
  for (const auto& reading : view->readings) by_reason[provider::to_string(reading->left_out)] += 1;
  page.family("loadline_pods", apiserver::MetricType::kGauge,
              "Pods known, by why they are left out of answers.");
  for (const auto& [reason, count] : by_reason) page.sample(count, {{"left_out", reason}});
}

}  // namespace loadline::cmd
