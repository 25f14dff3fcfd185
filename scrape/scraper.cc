#include "scrape/scraper.h"

#include "base/log.h"
#include "base/task_group.h"
#include "scrape/page_fetcher.h"
#include "scrape/schedule.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace loadline::scrape {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr milliseconds kShortestInterval{10};

Target within_bounds(Target target) {
  target.interval = std::max(target.interval, kShortestInterval);
  target.timeout = std::clamp(target.timeout, milliseconds(1), target.interval);
  return target;
}

}  // namespace

class Scraper::Impl {
 public:
  Impl(asio::any_io_executor executor, const Clock& clock, OnResult on_result)
      : executor_(executor),
        clock_(clock),
        on_result_(std::move(on_result)),
        tasks_(std::move(executor)) {}
  ~Impl() { retire_all(); }

  void set_targets(std::vector<Target> targets);
  asio::awaitable<void> stop() {
    stopped_ = true;
    retire_all();
    co_await tasks_.join();
  }
  const ScraperMetrics& metrics() const { return metrics_; }

 private:
  // One target's coroutine and what it works on. The coroutine touches nothing else once it is not
  // current any more.
  struct Slot {
    Slot(const asio::any_io_executor& executor, Target t, const Clock& clock)
        : target(std::move(t)), fetcher(executor, target, clock), timer(executor) {}
    const Target target;
    PageFetcher fetcher;
    asio::steady_timer timer;
    ScrapeFailure last = ScrapeFailure::kNone;
    bool current = true;
  };

  asio::awaitable<void> run(std::shared_ptr<Slot> slot);
  void hand_on(Slot& slot, ScrapeResult result);
  void log_change(Slot& slot, const ScrapeResult& result);
  static void retire(Slot& slot) {
    slot.current = false;
    slot.timer.cancel();
    slot.fetcher.abandon();
  }
  void retire_all() {
    for (const auto& [id, slot] : slots_) retire(*slot);
    slots_.clear();
    metrics_.targets.set(0);
  }

  asio::any_io_executor executor_;
  const Clock& clock_;
  OnResult on_result_;
  ScraperMetrics metrics_;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;
  bool stopped_ = false;
  TaskGroup tasks_;
};

void Scraper::Impl::set_targets(std::vector<Target> targets) {
  if (stopped_) return;
  std::unordered_set<std::string> ids;
  for (Target& given : targets) {
    Target target = within_bounds(std::move(given));
    if (!ids.insert(target.id).second) {
      log_warning("target given twice, the first one is kept", kv("target", target.name),
                  kv("id", target.id));
      continue;
    }
    std::shared_ptr<Slot>& slot = slots_[target.id];
    if (slot && slot->target == target) continue;
    if (slot) retire(*slot);
    slot = std::make_shared<Slot>(executor_, std::move(target), clock_);
    std::string name = "scrape " + slot->target.name;
    tasks_.spawn(std::move(name), run(slot));
  }
  std::erase_if(slots_, [&](const auto& entry) {
    const bool gone = !ids.contains(entry.first);
    if (gone) retire(*entry.second);
    return gone;
  });
  metrics_.targets.set(static_cast<double>(slots_.size()));
}

asio::awaitable<void> Scraper::Impl::run(std::shared_ptr<Slot> slot) {
  if (!slot->current) co_return;
  const Target& target = slot->target;
  SteadyTime next = first_scrape(target.id, target.interval, clock_.steady_now());
  while (slot->current) {
    slot->timer.expires_after(next - clock_.steady_now());
    co_await slot->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!slot->current) co_return;
    const SteadyTime started = clock_.steady_now();
    ScrapeResult result = co_await slot->fetcher.fetch();
    if (!slot->current) co_return;
    hand_on(*slot, std::move(result));
    if (!slot->current) co_return;
    next = next_scrape(target.id, target.interval, started, clock_.steady_now());
  }
}

void Scraper::Impl::hand_on(Slot& slot, ScrapeResult result) {
  metrics_.scrapes_total.add();
  metrics_.bytes_total.add(result.page_bytes);
  metrics_.samples_total.add(result.samples.size());
  metrics_.duplicates_total.add(result.duplicates);
  metrics_.refused_lines_total.add(result.refused_lines);
  if (result.failure != ScrapeFailure::kNone) metrics_.failures_total.add();
  log_change(slot, result);
  on_result_(std::make_shared<const ScrapeResult>(std::move(result)));
}

// Once per change, not per scrape.
void Scraper::Impl::log_change(Slot& slot, const ScrapeResult& result) {
  if (std::exchange(slot.last, result.failure) == result.failure) return;
  if (result.failure == ScrapeFailure::kNone) {
    log_info("scrapes succeed again", kv("target", slot.target.name));
  } else {
    log_warning("scrape failed", kv("target", slot.target.name),
                kv("reason", to_string(result.failure)), kv("error", result.message));
  }
}

Scraper::Scraper(asio::any_io_executor executor, const Clock& clock, OnResult on_result)
    : impl_(std::make_unique<Impl>(std::move(executor), clock, std::move(on_result))) {}

Scraper::~Scraper() = default;

void Scraper::set_targets(std::vector<Target> targets) { impl_->set_targets(std::move(targets)); }

asio::awaitable<void> Scraper::stop() { return impl_->stop(); }

const ScraperMetrics& Scraper::metrics() const { return impl_->metrics(); }

asio::awaitable<ScrapeResult> scrape_once(Target target, const Clock& clock) {
  auto executor = co_await asio::this_coro::executor;
  PageFetcher fetcher(std::move(executor), within_bounds(std::move(target)), clock);
  ScrapeResult result = co_await fetcher.fetch();
  co_return result;
}

}  // namespace loadline::scrape
