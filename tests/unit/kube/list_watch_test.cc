#include "kube/list_watch.h"

#include "kube/watch_frame.h"
#include "tests/unit/kube/pod_fixture.h"
#include "tests/unit/kube/testdata.h"

#include <gtest/gtest.h>

namespace loadline::kube {
namespace {

using std::chrono::milliseconds;
using Step = ListWatch::Step;

// The machine with a clock that jumps over its pauses.
struct Driven {
  explicit Driven(ListWatchPolicy policy = {}, std::uint64_t seed = 1) : machine(policy, seed) {}

  ListWatch::Action next() {
    auto action = machine.next(now);
    waited = milliseconds(0);
    while (action.step == Step::kWait) {
      EXPECT_GT(action.wait.count(), 0);
      now += action.wait;
      waited += action.wait;
      action = machine.next(now);
    }
    if (action.step == Step::kList && action.continue_token.empty()) list_times.push_back(now);
    return action;
  }
  PodList page(const std::vector<PodSpecimen>& pods, const std::string& version,
               const std::string& token = "") {
    return *decode_pod_list(json_list(pods, version, token), Encoding::kJson);
  }
  bool event(const std::string& json) { return machine.watch_event(one_event(json), now); }
  static WatchEvent one_event(const std::string& json) {
    WatchFrameDecoder decoder(Encoding::kJson);
    std::vector<WatchEvent> events;
    EXPECT_TRUE(decoder.feed(json, events));
    return events.at(0);
  }
  // Listed, and a watch opened.
  void start(const std::vector<PodSpecimen>& pods, const std::string& version) {
    EXPECT_EQ(next().step, Step::kList);
    EXPECT_TRUE(machine.list_page(page(pods, version), now).value());
    open();
  }
  void open() {
    EXPECT_EQ(next().step, Step::kWatch);
    machine.watch_opened(now);
  }
  static ListWatch::Failure status(int code) {
    ListWatch::Failure failure;
    failure.status = code;
    return failure;
  }
  std::string pods() const { return names(machine.pods().sorted()); }

  ListWatch machine;
  SteadyTime now{std::chrono::hours(1)};
  milliseconds waited{0};
  std::vector<SteadyTime> list_times;
};

// Plays a transcript of the field cases: what the machine asks must be what the transcript answers.
class Transcript {
 public:
  std::string play(const std::string& text, std::size_t first_read = 0) {
    std::istringstream in(text);
    std::string unread;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("#")) {
        feed(std::exchange(unread, ""), first_read);
        remark(line);
      } else {
        unread += line + "\n";
      }
    }
    feed(unread, first_read);
    return states_;
  }

  Driven driven;
  std::vector<std::string> watched_from;

 private:
  // The word that follows `before` in the line, up to one of " ,)"; empty: not there.
  static std::string word_after(std::string_view line, std::string_view before) {
    const auto at = line.find(before);
    if (at == std::string_view::npos) return "";
    line.remove_prefix(at + before.size());
    return std::string(line.substr(0, line.find_first_of(" ,)")));
  }

  void remark(const std::string& line) {
    if (line.starts_with("# LIST -> ")) {
      expect(Step::kList);
      const std::string version = word_after(line, "resourceVersion ");
      std::vector<PodSpecimen> pods;
      // "pods a(uid 1) b(uid 2)"
      for (auto at = line.find("(uid "); at != std::string::npos; at = line.find("(uid ", at + 1)) {
        const std::string name = line.substr(at - 1, 1);
        pods.push_back({name, word_after(line, name + "(uid "), version + "-" + name, ""});
      }
      EXPECT_TRUE(driven.machine.list_page(driven.page(pods, version), driven.now).value());
      note();
    } else if (const auto version = word_after(line, "# WATCH resourceVersion=");
               !version.empty()) {
      EXPECT_EQ(expect(Step::kWatch), version);
      decoder_ = WatchFrameDecoder(Encoding::kJson);
      if (line.find("HTTP status 410") != std::string::npos) {
        driven.machine.watch_failed(Driven::status(410), driven.now);
      } else {
        driven.machine.watch_opened(driven.now);
      }
    } else if (line.starts_with("# WATCH ends")) {
      driven.machine.watch_ended(driven.now);
    } else if (line.starts_with("# connection cut")) {
      driven.machine.watch_failed({}, driven.now);
    }
  }

  std::string expect(Step step) {
    const auto action = driven.next();
    EXPECT_EQ(action.step, step);
    if (action.step == Step::kWatch) watched_from.push_back(action.resource_version);
    return action.resource_version;
  }

  // In one read, or in two.
  void feed(std::string_view bytes, std::size_t first_read) {
    for (const auto part :
         {bytes.substr(0, first_read), bytes.substr(std::min(first_read, bytes.size()))}) {
      std::vector<WatchEvent> events;
      EXPECT_TRUE(decoder_.feed(part, events));
      for (const auto& event : events) {
        const bool on = driven.machine.watch_event(event, driven.now);
        EXPECT_EQ(on, event.type != WatchEventType::kError);
        if (on) note();
      }
    }
  }

  void note() { states_ += (states_.empty() ? "" : " ") + driven.pods(); }

  WatchFrameDecoder decoder_{Encoding::kJson};
  std::string states_;
};

TEST(ListWatch, B82BothFormsOf410GiveOneRelistEach) {
  Transcript transcript;
  EXPECT_EQ(transcript.play(read_testdata("B82-watch-410.txt")),
            "{a1,b2} {a1,b2,c3} {b22,c3,d4} {c3,d4} {d4}");
  EXPECT_EQ(transcript.watched_from, (std::vector<std::string>{"1000", "2500", "2600", "2601"}));
  const auto& lists = transcript.driven.list_times;
  ASSERT_EQ(lists.size(), 3U);
  EXPECT_EQ(transcript.driven.machine.lists(), 3U);
  EXPECT_GE(lists[1] - lists[0], milliseconds(500));
  EXPECT_GE(lists[2] - lists[1], milliseconds(500));
}

TEST(ListWatch, B84BookmarksMoveTheVersionAndNothingElse) {
  // Part two of the transcript comes on a watch that the transcript does not show: it must ask for
  // the bookmark's version.
  std::string text = read_testdata("B84-bookmarks.txt");
  const std::string cut = "# connection cut (RST)\n";
  const auto at = text.find(cut);
  ASSERT_NE(at, std::string::npos);
  text.insert(at + cut.size(), "# WATCH resourceVersion=900\n");
  for (const std::size_t first_read : {20U, 0U}) {
    Transcript transcript;
    EXPECT_EQ(transcript.play(text, first_read), "{a1} {a1} {a1} {a1,b2} {a1,b2}");
    EXPECT_EQ(transcript.driven.machine.lists(), 1U);
    transcript.driven.machine.watch_ended(transcript.driven.now);
    EXPECT_EQ(transcript.driven.next().resource_version, "950");
  }
}

TEST(ListWatch, PagesAppearTogetherWhenTheLastOneCame) {
  Driven driven;
  EXPECT_EQ(driven.next().continue_token, "");
  EXPECT_FALSE(
      driven.machine.list_page(driven.page({{"a", "1", "5"}}, "100", "t1"), driven.now).value());
  EXPECT_EQ(driven.pods(), "{}");
  EXPECT_FALSE(driven.machine.synced());
  EXPECT_EQ(driven.next().continue_token, "t1");
  EXPECT_EQ(driven.waited.count(), 0);
  EXPECT_TRUE(driven.machine.list_page(driven.page({{"b", "2", "6"}}, "100"), driven.now).value());
  EXPECT_EQ(driven.pods(), "{a1,b2}");
  EXPECT_TRUE(driven.machine.synced());
  EXPECT_EQ(driven.next().resource_version, "100");
}

TEST(ListWatch, AnExpiredPageStartsTheListAnew) {
  Driven driven;
  driven.next();
  EXPECT_FALSE(
      driven.machine.list_page(driven.page({{"gone", "1", "5"}}, "100", "t1"), driven.now).value());
  driven.next();
  driven.machine.list_failed(Driven::status(410), driven.now);
  EXPECT_EQ(driven.next().continue_token, "");
  EXPECT_GE(driven.waited, milliseconds(500));
  EXPECT_TRUE(driven.machine.list_page(driven.page({{"b", "2", "6"}}, "200"), driven.now).value());
  EXPECT_EQ(driven.pods(), "{b2}");
}

TEST(ListWatch, AFailedPageIsAskedAgain) {
  Driven driven;
  driven.next();
  EXPECT_FALSE(
      driven.machine.list_page(driven.page({{"a", "1", "5"}}, "100", "t1"), driven.now).value());
  driven.next();
  driven.machine.list_failed(Driven::status(503), driven.now);
  EXPECT_EQ(driven.next().continue_token, "t1");
  EXPECT_GE(driven.waited, milliseconds(500));
  EXPECT_TRUE(driven.machine.list_page(driven.page({{"b", "2", "6"}}, "100"), driven.now).value());
  EXPECT_EQ(driven.pods(), "{a1,b2}");
}

TEST(ListWatch, RepeatedExpiryNeverListsMoreThanOnceASecond) {
  Driven driven;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(driven.next().step, Step::kList);
    EXPECT_TRUE(driven.machine.list_page(driven.page({}, "5"), driven.now).value());
    EXPECT_EQ(driven.next().step, Step::kWatch);
    if (i % 2 == 0) {
      driven.machine.watch_failed(Driven::status(410), driven.now);
    } else {
      driven.machine.watch_opened(driven.now);
      EXPECT_FALSE(driven.event(json_expired_event()));
      driven.machine.watch_ended(driven.now);
    }
  }
  for (std::size_t i = 1; i < driven.list_times.size(); ++i) {
    EXPECT_GE(driven.list_times[i] - driven.list_times[i - 1], std::chrono::seconds(1));
    EXPECT_LE(driven.list_times[i] - driven.list_times[i - 1], std::chrono::seconds(8));
  }
  EXPECT_GE(driven.list_times.back() - driven.list_times.front(), std::chrono::seconds(150))
      << "the pauses grow";
}

TEST(ListWatch, TheEndOfALongWatchIsResumedAtOnce) {
  Driven driven;
  driven.start({{"a", "1", "5"}}, "100");
  EXPECT_TRUE(driven.event(json_event("MODIFIED", json_pod({"a", "1", "101"}))));
  driven.now += std::chrono::minutes(5);
  driven.machine.watch_ended(driven.now);
  EXPECT_EQ(driven.next().resource_version, "101");
  EXPECT_EQ(driven.waited.count(), 0);
}

TEST(ListWatch, WatchesThatEndAtOnceAreResumedEverMoreSlowly) {
  Driven driven;
  driven.start({}, "100");
  milliseconds total{0};
  for (int i = 0; i < 10; ++i) {
    driven.machine.watch_ended(driven.now);
    driven.open();
    EXPECT_GE(driven.waited, milliseconds(250));
    EXPECT_LE(driven.waited, milliseconds(8000));
    total += driven.waited;
  }
  EXPECT_GE(total, std::chrono::seconds(20));
  EXPECT_EQ(driven.machine.lists(), 1U);
}

TEST(ListWatch, AnOutageOfAnyLengthIsOverWithinTenSeconds) {
  Driven driven;
  driven.start({{"a", "1", "5"}}, "100");
  driven.now += std::chrono::minutes(10);
  for (int i = 0; i < 200; ++i) {
    driven.machine.watch_failed({}, driven.now);
    EXPECT_EQ(driven.next().resource_version, "100");
    EXPECT_EQ(driven.pods(), "{a1}");
  }
  // The server is back just after the last attempt.
  const SteadyTime back = driven.now;
  driven.machine.watch_failed({}, driven.now);
  EXPECT_EQ(driven.next().step, Step::kWatch);
  driven.machine.watch_failed(Driven::status(410), driven.now);
  EXPECT_EQ(driven.next().step, Step::kList);
  EXPECT_LE(driven.now - back, std::chrono::seconds(10));
  EXPECT_TRUE(driven.machine.list_page(driven.page({{"b", "2", "6"}}, "900"), driven.now).value());
  EXPECT_EQ(driven.pods(), "{b2}");
}

TEST(ListWatch, RetryAfterIsHonouredUpToItsBound) {
  Driven driven;
  driven.next();
  auto busy = Driven::status(429);
  busy.retry_after = std::chrono::seconds(20);
  driven.machine.list_failed(busy, driven.now);
  driven.next();
  EXPECT_GE(driven.waited, std::chrono::seconds(20));
  busy.retry_after = std::chrono::hours(24);
  driven.machine.list_failed(busy, driven.now);
  driven.next();
  EXPECT_EQ(driven.waited, std::chrono::seconds(60));
}

TEST(ListWatch, AVersionThatIsAlwaysRefusedIsGivenUp) {
  // A cluster restored from a backup answers 504 (or 400) to versions that it has not reached.
  Driven driven;
  driven.start({}, "99999");
  driven.machine.watch_failed(Driven::status(504), driven.now);
  int refused = 1;
  while (driven.next().step == Step::kWatch && refused < 100) {
    driven.machine.watch_failed(Driven::status(504), driven.now);
    ++refused;
  }
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(driven.machine.lists(), 2U);
}

TEST(ListWatch, ABusyServerIsNotAskedForAList) {
  Driven driven;
  driven.start({}, "100");
  for (int i = 0; i < 20; ++i) {
    driven.machine.watch_failed(Driven::status(429), driven.now);
    EXPECT_EQ(driven.next().step, Step::kWatch);
  }
}

TEST(ListWatch, OtherErrorEventsResumeFromTheLastVersion) {
  Driven driven;
  driven.start({}, "100");
  EXPECT_TRUE(driven.event(json_bookmark("200")));
  EXPECT_FALSE(
      driven.event(json_event("ERROR", R"({"kind":"Status","code":500,"message":"etcd"})")));
  EXPECT_FALSE(driven.event(json_bookmark("300"))) << "what follows an error is not heard";
  driven.machine.watch_ended(driven.now);
  EXPECT_EQ(driven.next().resource_version, "200");
  EXPECT_GE(driven.waited, milliseconds(250));
  EXPECT_LE(driven.waited, milliseconds(500)) << "one failure, one step of the back-off";
}

TEST(ListWatch, AnUnreadableStreamMakesANewList) {
  Driven driven;
  driven.start({{"a", "1", "5"}}, "100");
  driven.machine.watch_malformed(driven.now);
  driven.machine.watch_ended(driven.now);
  EXPECT_EQ(driven.next().step, Step::kList);
  EXPECT_EQ(driven.pods(), "{a1}");
}

TEST(ListWatch, ListsThatCannotBeUsedAreFailures) {
  ListWatchPolicy policy;
  policy.most_pods = 3;
  policy.most_pages = 2;
  Driven driven(policy);
  driven.next();
  EXPECT_FALSE(driven.machine.list_page(driven.page({}, ""), driven.now));
  EXPECT_EQ(driven.next().step, Step::kList);
  EXPECT_FALSE(driven.machine.list_page(
      driven.page({{"a", "1", "5"}, {"b", "2", "5"}, {"c", "3", "5"}, {"d", "4", "5"}}, "1", "t"),
      driven.now));
  for (const bool good : {true, true, false}) {
    EXPECT_EQ(driven.next().step, Step::kList);
    EXPECT_EQ(driven.machine.list_page(driven.page({}, "1", "t"), driven.now).has_value(), good);
  }
  EXPECT_EQ(driven.next().continue_token, "");
  EXPECT_FALSE(driven.machine.synced());
}

TEST(ListWatch, ARecreatedPodIsAnotherPod) {
  Driven driven;
  driven.start({{"a", "1", "5"}}, "100");
  const auto before = driven.machine.changes();
  EXPECT_TRUE(driven.event(json_event("ADDED", json_pod({"a", "2", "101"}))));
  EXPECT_EQ(driven.pods(), "{a2}");
  EXPECT_TRUE(driven.event(json_event("DELETED", json_pod({"a", "1", "102"}))));
  EXPECT_EQ(driven.pods(), "{a2}");
  EXPECT_EQ(driven.machine.changes(), before + 1);
}

}  // namespace
}  // namespace loadline::kube
