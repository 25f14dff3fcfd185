// The machine against a model of an API server that changes, forgets its history, refuses and cuts:
// whatever happened, the pods must in the end be those of a fresh list, and no list may have been
// made without need.
#include "kube/list_watch.h"
#include "tests/unit/kube/pod_fixture.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace loadline::kube {
namespace {

using std::chrono::milliseconds;

PodPtr make_pod(const std::string& name, const std::string& uid, const std::string& version) {
  Pod pod;
  pod.namespace_name = "ns";
  pod.name = name;
  pod.uid = uid;
  pod.resource_version = version;
  return std::make_shared<const Pod>(std::move(pod));
}

class ModelServer {
 public:
  explicit ModelServer(std::mt19937_64& random) : random_(random) {}

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  bool chance(int percent) { return below(100) < percent; }

  void change() {
    const std::string name = "p" + std::to_string(below(6));
    const auto known = pods_.find(name);
    ++version_;
    if (known == pods_.end()) {
      record(WatchEventType::kAdded,
             make_pod(name, "u" + std::to_string(version_), text(version_)));
    } else if (chance(50)) {
      record(WatchEventType::kModified, make_pod(name, known->second->uid, text(version_)));
    } else {
      record(WatchEventType::kDeleted, make_pod(name, known->second->uid, text(version_)));
      if (chance(50)) {  // under the same name at once
        ++version_;
        record(WatchEventType::kAdded,
               make_pod(name, "u" + std::to_string(version_), text(version_)));
      }
    }
  }
  void forget() { floor_ = version_; }

  std::vector<PodPtr> pods() const {
    std::vector<PodPtr> pods;
    for (const auto& [name, pod] : pods_) pods.push_back(pod);
    return pods;
  }
  std::string version() const { return text(version_); }
  bool is_expired(const std::string& version) const { return number(version) < floor_; }

  std::vector<WatchEvent> events_after(const std::string& version) const {
    std::vector<WatchEvent> events;
    const int from = number(version);
    for (const auto& [at, event] : history_) {
      if (at > from) events.push_back(event);
    }
    return events;
  }

 private:
  // Opaque and in no order, as the rules have it.
  static std::string text(int version) {
    return "v" + std::to_string(version * 7919 % 1'000'003) + "x";
  }
  int number(const std::string& version) const {
    for (; numbered_ <= version_; ++numbered_) numbers_[text(numbered_)] = numbered_;
    EXPECT_TRUE(numbers_.contains(version)) << "the server never gave version " << version;
    return numbers_[version];
  }

  void record(WatchEventType type, PodPtr pod) {
    if (type == WatchEventType::kDeleted) {
      pods_.erase(pod->name);
    } else {
      pods_[pod->name] = pod;
    }
    WatchEvent event;
    event.type = type;
    event.resource_version = pod->resource_version;
    event.pod = std::move(pod);
    history_.emplace_back(version_, std::move(event));
  }

  std::mt19937_64& random_;
  int version_ = 1, floor_ = 0;
  mutable int numbered_ = 0;
  mutable std::map<std::string, int> numbers_;
  std::map<std::string, PodPtr> pods_;
  std::vector<std::pair<int, WatchEvent>> history_;
};

class Walk {
 public:
  explicit Walk(std::uint64_t seed) : random_(seed), server_(random_), machine_({}, seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step(true);
    // No more faults: a few steps bring everything up to date.
    for (int i = 0; i < 20; ++i) step(false);
    EXPECT_EQ(described(machine_.pods().sorted()), described(server_.pods()));
    EXPECT_EQ(machine_.lists(), static_cast<std::uint64_t>(1 + reasons_to_list_));
  }

 private:
  static std::string described(const std::vector<PodPtr>& pods) {
    std::string text;
    for (const auto& pod : pods) text += describe(*pod) + "\n";
    return text;
  }

  void step(bool faults) {
    if (faults && server_.chance(60)) server_.change();
    if (faults && server_.chance(10)) server_.forget();
    const auto action = machine_.next(now_);
    if (action.step == ListWatch::Step::kWait) {
      EXPECT_GT(action.wait.count(), 0);
      now_ += action.wait;
    } else if (action.step == ListWatch::Step::kList) {
      list(action.continue_token, faults);
    } else {
      watch(action.resource_version, faults);
    }
  }

  void list(const std::string& token, bool faults) {
    if (token.empty()) {
      EXPECT_TRUE(!last_list_ || now_ - *last_list_ >= std::chrono::seconds(1))
          << "two lists within a second";
      last_list_ = now_;
    }
    if (faults && server_.chance(30)) {
      if (token.empty()) ++reasons_to_list_;
      return machine_.list_failed(failure(server_.chance(50) ? 0 : 503), now_);
    }
    if (token.empty()) {
      snapshot_ = server_.pods();
      snapshot_version_ = server_.version();
    } else if (server_.is_expired(snapshot_version_)) {
      ++reasons_to_list_;
      return machine_.list_failed(failure(410), now_);
    }
    PodList page;
    page.resource_version = snapshot_version_;
    const std::size_t begin = token.empty() ? 0 : std::stoul(token);
    const std::size_t end = std::min(snapshot_.size(), begin + 2);
    page.pods.assign(snapshot_.begin() + static_cast<std::ptrdiff_t>(begin),
                     snapshot_.begin() + static_cast<std::ptrdiff_t>(end));
    if (end < snapshot_.size()) page.continue_token = std::to_string(end);
    const auto complete = machine_.list_page(std::move(page), now_);
    ASSERT_TRUE(complete);
    if (*complete) {
      EXPECT_EQ(described(machine_.pods().sorted()), described(snapshot_));
    }
  }

  void watch(const std::string& version, bool faults) {
    if (server_.is_expired(version)) {
      ++reasons_to_list_;
      if (server_.chance(50)) return machine_.watch_failed(failure(410), now_);
      machine_.watch_opened(now_);
      WatchEvent event;
      event.type = WatchEventType::kError;
      event.status.code = 410;
      EXPECT_FALSE(machine_.watch_event(event, now_));
      return server_.chance(50) ? machine_.watch_ended(now_) : machine_.watch_failed({}, now_);
    }
    if (faults && server_.chance(30))
      return machine_.watch_failed(failure(server_.chance(50) ? 0 : 429), now_);
    machine_.watch_opened(now_);
    for (const auto& event : server_.events_after(version)) {
      if (faults && server_.chance(15)) return machine_.watch_failed({}, now_);
      EXPECT_TRUE(machine_.watch_event(event, now_));
      now_ += milliseconds(server_.below(3'000));
    }
    EXPECT_EQ(described(machine_.pods().sorted()), described(server_.pods()));
    if (server_.chance(50)) {
      WatchEvent bookmark;
      bookmark.resource_version = server_.version();
      EXPECT_TRUE(machine_.watch_event(bookmark, now_));
    }
    server_.chance(50) ? machine_.watch_ended(now_) : machine_.watch_failed({}, now_);
  }

  static ListWatch::Failure failure(int status) {
    ListWatch::Failure failure;
    failure.status = status;
    return failure;
  }

  std::mt19937_64 random_;
  ModelServer server_;
  ListWatch machine_;
  SteadyTime now_{std::chrono::hours(1)};
  std::optional<SteadyTime> last_list_;
  std::vector<PodPtr> snapshot_;
  std::string snapshot_version_;
  int reasons_to_list_ = 0;
};

TEST(ListWatchModel, AnyHistoryEndsWithThePodsOfAFreshList) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed);
    walk.run(150);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace loadline::kube
