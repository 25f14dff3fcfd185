#include "kube/pod_informer.h"

#include "base/task_group.h"
#include "tests/unit/kube/pod_fixture.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace loadline::kube {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kJson = "application/json";
constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf;stream=watch";

class ManualClock final : public Clock {
 public:
  SteadyTime steady_now() const override { return now; }
  WallTime wall_now() const override { return WallTime(now.time_since_epoch()); }
  SteadyTime now{std::chrono::hours(1)};
};

// Plays one answer after the other; when there are none left, the call hangs until it is cancelled.
class PlayedTransport final : public Transport {
 public:
  struct Answer {
    std::string for_list;  // the answer's body, with list_status; or a watch:
    Result<int> status = 200;
    std::string content_type;
    std::vector<std::string> chunks;
    std::string error_body;
    milliseconds lasts{0};
  };

  explicit PlayedTransport(ManualClock& clock) : clock_(clock) {}

  void list(int status, std::string body, std::string content_type = kJson) {
    Answer answer;
    answer.for_list = std::move(body);
    answer.status = status;
    answer.content_type = std::move(content_type);
    answers_.push_back(std::move(answer));
  }
  void fail(Error error) {
    Answer answer;
    answer.status = std::move(error);
    answers_.push_back(std::move(answer));
  }
  // Ends after the chunks with `end`: 200, or an error for a stream that was cut.
  void watch(std::vector<std::string> chunks, Result<int> end = 200,
             std::string content_type = kJson, milliseconds lasts = std::chrono::minutes(5)) {
    Answer answer;
    answer.status = std::move(end);
    answer.content_type = std::move(content_type);
    answer.chunks = std::move(chunks);
    answer.lasts = lasts;
    answers_.push_back(std::move(answer));
  }
  void refuse_watch(int status, std::string body) {
    Answer answer;
    answer.status = status;
    answer.error_body = std::move(body);
    answers_.push_back(std::move(answer));
  }

  asio::awaitable<Result<ApiResponse>> request(std::string method, std::string path,
                                               std::string accept, std::string body) override {
    EXPECT_EQ(method, "GET");
    EXPECT_EQ(body, "");
    asked.push_back(std::move(path));
    accepts.push_back(std::move(accept));
    if (answers_.empty()) co_await hang();
    if (answers_.empty()) co_return Error(Code::kUnavailable, "cancelled");
    Answer answer = take();
    if (!answer.status) co_return answer.status.error();
    ApiResponse response;
    response.status = *answer.status;
    response.content_type = std::move(answer.content_type);
    response.body = std::move(answer.for_list);
    co_return response;
  }

  asio::awaitable<Result<int>> stream(std::string path, std::string accept,
                                      const StreamSink& sink) override {
    asked.push_back(std::move(path));
    accepts.push_back(std::move(accept));
    if (answers_.empty()) co_await hang();
    if (answers_.empty()) co_return Error(Code::kUnavailable, "cancelled");
    const Answer answer = take();
    if (answer.status && *answer.status != 200) {
      sink.on_error_body(answer.error_body);
      co_return answer.status;
    }
    if (!answer.status && answer.content_type.empty()) co_return answer.status;  // never connected
    sink.on_open(answer.content_type);
    for (const auto& chunk : answer.chunks) {
      if (!sink.on_data(chunk)) co_return 200;
    }
    clock_.now += answer.lasts;
    co_return answer.status;
  }

  std::function<void()> on_end;  // the script is at its end
  std::vector<std::string> asked, accepts;

 private:
  Answer take() {
    Answer answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }
  asio::awaitable<void> hang() {
    on_end();
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }

  ManualClock& clock_;
  std::deque<Answer> answers_;
};

// An informer whose pauses take no time but the clock's.
class Informer : public testing::Test {
 protected:
  // Runs until the script is at its end, then cancels and waits for the end of the coroutine.
  void play(PodInformer::Options options = {}) {
    options.pause = [this](milliseconds duration) { return pause(duration); };
    options.seed = 7;
    informer_.emplace(transport, clock, std::move(options));
    TaskGroup group(context_.get_executor());
    // From outside: a coroutine that never waited cannot be cancelled by itself.
    transport.on_end = [this, &group] { asio::post(context_, [&group] { group.cancel(); }); };
    group.spawn("pods", informer_->run([this](const auto& set) { sets.push_back(set); }));
    context_.run();
    EXPECT_EQ(group.size(), 0U);
    context_.restart();
  }

  std::vector<std::string> published() const {
    std::vector<std::string> texts;
    for (const auto& set : sets)
      texts.push_back((set->synced ? "" : "unsynced ") + names(set->pods) + set->problem);
    return texts;
  }
  const PodInformer& informer() const { return *informer_; }

  ManualClock clock;
  PlayedTransport transport{clock};
  std::vector<std::shared_ptr<const PodSet>> sets;
  std::vector<milliseconds> pauses;

 private:
  asio::awaitable<void> pause(milliseconds duration) {
    pauses.push_back(duration);
    clock.now += duration;
    co_return;
  }

  asio::io_context context_;
  std::optional<PodInformer> informer_;
};

TEST_F(Informer, ListsInPagesThenWatches) {
  transport.list(200, proto_list({{"b", "2", "5"}}, "100", "t/1="),
                 "application/vnd.kubernetes.protobuf");
  transport.list(200, proto_list({{"a", "1", "5"}}, "100"), "application/vnd.kubernetes.protobuf");
  transport.watch({proto_pod_event("ADDED", {"c", "3", "101"})}, 200, kProtobuf);
  play();
  EXPECT_THAT(published(), ElementsAre("{a1,b2}", "{a1,b2,c3}"));
  ASSERT_EQ(transport.asked.size(), 4U);
  EXPECT_EQ(transport.asked[0], "/api/v1/pods?limit=500");
  EXPECT_EQ(transport.asked[1], "/api/v1/pods?limit=500&continue=t%2F1%3D");
  const std::string watch =
      "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=100&timeoutSeconds=";
  ASSERT_THAT(transport.asked[2], testing::StartsWith(watch));
  const int seconds = std::stoi(transport.asked[2].substr(watch.size()));
  EXPECT_GE(seconds, 240);
  EXPECT_LE(seconds, 480);
  EXPECT_THAT(transport.asked[3], HasSubstr("resourceVersion=101&"));
  EXPECT_THAT(transport.accepts,
              testing::Each("application/vnd.kubernetes.protobuf, application/json"));
  EXPECT_EQ(informer().snapshot(), sets.back());
}

TEST_F(Informer, AServerThatAnswersInJsonIsUnderstood) {
  transport.list(200, json_list({{"a", "1", "5"}}, "100"), "application/json; charset=utf-8");
  transport.watch({json_event("DELETED", json_pod({"a", "1", "101"}))}, 200, "application/json");
  PodInformer::Options options;
  options.namespace_name = "team-a";
  play(options);
  EXPECT_THAT(published(), ElementsAre("{a1}", "{}"));
  EXPECT_THAT(transport.asked[0], HasSubstr("/api/v1/namespaces/team-a/pods?"));
}

TEST_F(Informer, PublishesOncePerChunkAndNotForBookmarks) {
  transport.list(200, json_list({}, "100"));
  const std::string two = json_event("ADDED", json_pod({"a", "1", "101"})) +
                          json_event("ADDED", json_pod({"b", "2", "102"}));
  const std::string one = json_event("ADDED", json_pod({"c", "3", "103"}));
  transport.watch({two, json_bookmark("500"), one.substr(0, 20), one.substr(20)});
  play();
  EXPECT_THAT(published(), ElementsAre("{}", "{a1,b2}", "{a1,b2,c3}"));
  EXPECT_EQ(informer().metrics().watch_events_total.value(), 4U);
}

TEST_F(Informer, MissingRightsAreToldWithTheirCure) {
  const std::string forbidden =
      R"({"kind":"Status","code":403,"reason":"Forbidden","message":"pods is forbidden: User \"x\" cannot list"})";
  transport.list(403, forbidden);
  transport.list(403, forbidden);
  transport.list(200, json_list({{"a", "1", "5"}}, "100"));
  transport.refuse_watch(403, forbidden);
  transport.watch({});
  play();
  const std::string cure =
      "; add get, list, watch on pods to the ClusterRole of this service account";
  EXPECT_THAT(
      published(),
      ElementsAre(
          "unsynced {}cannot list pods: HTTP 403: pods is forbidden: User \"x\" cannot list" + cure,
          "{a1}",
          "{a1}cannot watch pods: HTTP 403: pods is forbidden: User \"x\" cannot list" + cure,
          "{a1}"));
}

TEST_F(Informer, B88TheLastGoodStateOutlivesAnOutage) {
  transport.list(200, json_list({{"a", "1", "5"}, {"b", "2", "5"}}, "100"));
  transport.watch({}, Error(Code::kUnavailable, "connection reset"));
  for (int i = 0; i < 150; ++i) transport.fail(Error(Code::kUnavailable, "connection refused"));
  transport.refuse_watch(410, R"({"kind":"Status","code":410,"reason":"Expired"})");
  transport.list(200, json_list({{"b", "22", "900"}, {"c", "3", "900"}}, "900"));
  transport.watch({});
  play();
  EXPECT_THAT(published(),
              ElementsAre("{a1,b2}", "{a1,b2}cannot watch pods: connection refused", "{b22,c3}"));
  // The pauses of the outage: the back-off's, 15 minutes in all, and never too long to be right
  // again within 10 s.
  milliseconds total{0}, longest{0};
  for (const auto pause : pauses) {
    total += pause;
    longest = std::max(longest, pause);
  }
  EXPECT_GE(total, std::chrono::minutes(10));
  EXPECT_LE(longest + pauses.back(), std::chrono::seconds(10));
}

TEST_F(Informer, AStreamThatWasCutIsResumedWithoutAnOutcry) {
  transport.list(200, json_list({{"a", "1", "5"}}, "100"));
  transport.watch({json_bookmark("150")}, Error(Code::kTimeout, "nothing read for 90 s"));
  transport.watch({json_event("ADDED", json_pod({"b", "2", "151"}))});
  play();
  EXPECT_THAT(published(), ElementsAre("{a1}", "{a1,b2}"));
  EXPECT_THAT(transport.asked[2], HasSubstr("resourceVersion=150&"));
}

TEST_F(Informer, AnErrorEvent410MakesOneListThatReplacesThePodsAtOnce) {
  transport.list(200, json_list({{"a", "1", "5"}, {"b", "2", "5"}}, "100"));
  transport.watch({json_expired_event() + json_event("ADDED", json_pod({"never", "9", "101"}))});
  transport.list(200, json_list({{"b", "22", "200"}}, "200"));
  transport.watch({});
  play();
  EXPECT_THAT(published(), ElementsAre("{a1,b2}", "{b22}"));
  EXPECT_EQ(informer().metrics().lists_total.value(), 2U);
  ASSERT_EQ(pauses.size(), 1U);
  EXPECT_GE(pauses[0], milliseconds(500));
}

TEST_F(Informer, AnUnreadableStreamIsToldAndListedAnew) {
  transport.list(200, json_list({{"a", "1", "5"}}, "100"));
  transport.watch({json_event("ADDED", json_pod({"b", "2", "101"})) + "<html>\n"});
  transport.list(200, json_list({{"b", "2", "101"}}, "200"));
  transport.watch({});
  play();
  ASSERT_EQ(sets.size(), 3U);
  EXPECT_EQ(names(sets[1]->pods), "{a1,b2}");
  EXPECT_THAT(sets[1]->problem, HasSubstr("cannot watch pods: unreadable answer: no JSON"));
  EXPECT_EQ(names(sets[2]->pods), "{b2}");
  EXPECT_EQ(sets[2]->problem, "");
}

TEST_F(Informer, AnswersThatAreNoListsAreFailures) {
  transport.list(200, "<html>a proxy's page</html>", "text/html");
  transport.list(200, proto_list({}, "1"), kJson);
  transport.fail(Error(Code::kTimeout, "no answer within 10 s"));
  transport.list(429, "Too many requests, please try again later.\n", "text/plain");
  transport.list(200, json_list({{"a", "1", "5"}}, "100"));
  transport.watch({});
  play();
  ASSERT_EQ(sets.size(), 5U);
  EXPECT_THAT(sets[0]->problem, HasSubstr("cannot list pods: unreadable answer: "));
  EXPECT_EQ(sets[2]->problem, "cannot list pods: no answer within 10 s");
  EXPECT_EQ(sets[3]->problem,
            "cannot list pods: HTTP 429: Too many requests, please try again later.");
  EXPECT_EQ(published()[4], "{a1}");
  EXPECT_EQ(informer().metrics().list_failures_total.value(), 4U);
}

TEST_F(Informer, BadPodsAreLeftOutAndCounted) {
  transport.list(
      200,
      R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":5}},)" +
          json_pod({"a", "1", "5"}) + "]}");
  play();
  EXPECT_THAT(published(), ElementsAre("{a1}"));
  EXPECT_EQ(informer().metrics().malformed_pods_total.value(), 1U);
}

TEST_F(Informer, BeforeTheFirstListNothingIsSynced) {
  play();
  EXPECT_TRUE(sets.empty());
  EXPECT_FALSE(informer().snapshot()->synced);
}

TEST(PodInformerTimer, ThePauseOfTheLoopEndsWhenCancelled) {
  asio::io_context context;
  ManualClock clock;
  PlayedTransport transport(clock);
  transport.fail(Error(Code::kUnavailable, "connection refused"));
  PodInformer::Options options;
  options.policy.list.first = options.policy.list.most = std::chrono::hours(1);
  PodInformer informer(transport, clock, options);
  TaskGroup group(context.get_executor());
  group.spawn("pods", informer.run(
                          [&](const auto&) { asio::post(context, [&group] { group.cancel(); }); }));
  context.run();
  EXPECT_EQ(group.size(), 0U);
  EXPECT_EQ(informer.snapshot()->problem, "cannot list pods: connection refused");
}

}  // namespace
}  // namespace loadline::kube
