#include "scrape/scraper.h"

#include "net/http_server.h"
#include "tests/unit/scrape/scripted_engine.h"

#include <gtest/gtest.h>

#include <map>

namespace loadline::scrape {
namespace {

namespace asio = boost::asio;
using Then = ScriptedAnswer::Then;
using std::chrono::milliseconds;

std::string page(int running) {
  return "vllm:num_requests_running{} " + std::to_string(running) + "\n";
}

// A scraper and what it has brought.
struct Scraping {
  Scraping()
      : scraper(loop.get_executor(), system_clock(),
                [this](auto result) { take(std::move(result)); }) {}
  ~Scraping() { run(loop, scraper.stop()); }

  void take(std::shared_ptr<const ScrapeResult> result) {
    results.push_back(std::move(result));
    if (on_result) on_result();
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> all;
    for (const auto& result : results) all.push_back(result->target_id);
    return all;
  }
  std::size_t good(const std::string& id) const {
    std::size_t n = 0;
    for (const auto& result : results)
      n += result->target_id == id && result->failure == ScrapeFailure::kNone;
    return n;
  }

  asio::io_context loop;
  std::vector<std::shared_ptr<const ScrapeResult>> results;
  std::function<void()> on_result;
  Scraper scraper;
};

// Of an interval so short that a test sees several scrapes, and so long that none of them fails on
// a busy machine.
Target quick(std::uint16_t port, std::string id = "uid-1") {
  Target target = target_of(port, std::move(id));
  target.interval = target.timeout = milliseconds(400);
  return target;
}

// First scraped within two seconds, and not again.
Target slow(std::uint16_t port, std::string id = "uid-1") {
  Target target = target_of(port, std::move(id));
  target.interval = milliseconds(20'000);
  return target;
}

TEST(Scraper, ScrapesOurServerAgainAndAgainOnOneConnection) {
  Scraping s;
  net::HttpServer::Options options;
  options.bind_address = "127.0.0.1";
  auto handler =
      [](std::shared_ptr<const net::ServerRequest>) -> asio::awaitable<net::ServerResponse> {
    net::ServerResponse response;
    response.content_type = "text/plain; version=0.0.4";
    response.body = std::make_shared<const std::string>(page(4));
    co_return response;
  };
  auto on_error = [](int, const std::string&) { return net::ServerResponse(); };
  net::HttpServer server(s.loop.get_executor(), options, handler, on_error);
  ASSERT_TRUE(server.start());

  s.scraper.set_targets({quick(server.port())});
  ASSERT_TRUE(run_until(s.loop, [&] { return s.good("uid-1") >= 3; }));
  for (std::size_t i = 1; i < s.results.size(); ++i)
    EXPECT_GE(s.results[i]->time, s.results[i - 1]->time);
  EXPECT_EQ(s.results[0]->samples.at(0).value, 4);
  // A scrape that a busy machine lets expire costs its connection.
  EXPECT_LE(server.metrics().connections_total.value(), 1 + s.results.size() - s.good("uid-1"));
  EXPECT_EQ(s.scraper.metrics().scrapes_total.value(), s.results.size());
  EXPECT_EQ(s.scraper.metrics().samples_total.value(), s.good("uid-1"));
  EXPECT_EQ(s.scraper.metrics().bytes_total.value(), s.good("uid-1") * page(4).size());
  EXPECT_EQ(s.scraper.metrics().targets.value(), 1);
  run(s.loop, s.scraper.stop());
  run(s.loop, server.stop(milliseconds(0)));
}

TEST(Scraper, AFailingTargetIsReportedAndTriedAgainOnItsPlainSchedule) {
  Scraping s;
  int asked = 0;
  ScriptedEngine engine(s.loop, [&](const std::string&) {
    return ++asked <= 2 ? "HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n" : page_answer(page(1));
  });
  s.scraper.set_targets({quick(engine.port())});
  ASSERT_TRUE(run_until(s.loop, [&] { return s.good("uid-1") == 1; }));
  EXPECT_EQ(s.results[0]->failure, ScrapeFailure::kHttpStatus);
  EXPECT_GE(s.scraper.metrics().failures_total.value(), 2u);
}

TEST(Scraper, ASilentTargetDelaysNoOther) {
  Scraping s;
  ScriptedEngine silent(s.loop,
                        [](const std::string&) { return ScriptedAnswer("", Then::kNothing); });
  ScriptedEngine engine(s.loop, [](const std::string&) { return page_answer(page(1)); });
  s.scraper.set_targets({slow(silent.port(), "silent"), quick(engine.port(), "well")});
  ASSERT_TRUE(run_until(s.loop, [&] { return s.good("well") >= 2 && !silent.paths().empty(); }));
  EXPECT_EQ(s.good("silent"), 0u);
}

TEST(Scraper, B42TheLateAnswerOfARemovedTargetIsDropped) {
  Scraping s;
  ScriptedEngine first(s.loop,
                       [](const std::string&) { return ScriptedAnswer("", Then::kNothing); });
  ScriptedEngine second(s.loop, [](const std::string&) { return page_answer(page(1)); });
  s.scraper.set_targets({slow(first.port(), "u1")});
  ASSERT_TRUE(run_until(s.loop, [&] { return first.paths().size() == 1; }));
  // The pod is born again under its old name; its answer is on the way.
  first.send_to_all(page_answer(page(7)));
  s.scraper.set_targets({slow(second.port(), "u2")});
  ASSERT_TRUE(
      run_until(s.loop, [&] { return !s.results.empty() && first.ended_connections() == 1; }));
  run(s.loop, s.scraper.stop());
  EXPECT_EQ(s.ids(), std::vector<std::string>{"u2"});
  EXPECT_EQ(s.results[0]->samples.at(0).value, 1);
}

TEST(Scraper, AChangedTargetStartsAnewAndItsOldScrapeIsDropped) {
  Scraping s;
  ScriptedEngine engine(s.loop, [](const std::string& path) {
    return path == "/old" ? ScriptedAnswer("", Then::kNothing)
                          : ScriptedAnswer(page_answer(page(2)));
  });
  Target target = slow(engine.port());
  target.path = "/old";
  s.scraper.set_targets({target});
  ASSERT_TRUE(run_until(s.loop, [&] { return engine.paths().size() == 1; }));
  target.path = "/new";
  s.scraper.set_targets({target});
  ASSERT_TRUE(run_until(s.loop, [&] { return !s.results.empty(); }));
  run(s.loop, s.scraper.stop());
  EXPECT_EQ(engine.paths(), (std::vector<std::string>{"/old", "/new"}));
  EXPECT_EQ(s.ids(), std::vector<std::string>{"uid-1"});
  EXPECT_EQ(s.results[0]->samples.at(0).value, 2);
}

TEST(Scraper, TheSameSetAgainDisturbsNothing) {
  Scraping s;
  ScriptedEngine engine(s.loop,
                        [](const std::string&) { return ScriptedAnswer("", Then::kNothing); });
  const Target target = slow(engine.port());
  s.scraper.set_targets({target});
  ASSERT_TRUE(run_until(s.loop, [&] { return engine.paths().size() == 1; }));
  s.scraper.set_targets({target, target});
  EXPECT_EQ(s.scraper.metrics().targets.value(), 1);
  engine.send_to_all(page_answer(page(3)));
  ASSERT_TRUE(run_until(s.loop, [&] { return s.results.size() == 1; }));
  EXPECT_EQ(s.results[0]->samples.at(0).value, 3);
  EXPECT_EQ(engine.connections(), 1);
}

TEST(Scraper, TargetsMayBeTakenAwayFromWithinAResult) {
  Scraping s;
  ScriptedEngine engine(s.loop, [](const std::string&) { return page_answer(page(1)); });
  s.on_result = [&] { s.scraper.set_targets({}); };
  s.scraper.set_targets({quick(engine.port())});
  ASSERT_TRUE(run_until(s.loop, [&] { return engine.ended_connections() == 1; }));
  run(s.loop, s.scraper.stop());
  EXPECT_EQ(s.results.size(), 1u);
  EXPECT_EQ(engine.paths().size(), 1u);
  EXPECT_EQ(s.scraper.metrics().targets.value(), 0);
}

TEST(Scraper, StopEndsAScrapeUnderWayAndNothingComesAfter) {
  Scraping s;
  ScriptedEngine engine(s.loop,
                        [](const std::string&) { return ScriptedAnswer("", Then::kNothing); });
  s.scraper.set_targets({slow(engine.port(), "a"), slow(engine.port(), "b")});
  ASSERT_TRUE(run_until(s.loop, [&] { return engine.paths().size() == 2; }));
  run(s.loop, s.scraper.stop());
  s.scraper.set_targets({slow(engine.port(), "c")});
  EXPECT_TRUE(s.results.empty());
  EXPECT_EQ(s.scraper.metrics().targets.value(), 0);
}

TEST(Scraper, AScraperThatNeverStoppedMayBeDestroyedBeforeItsLoopEnds) {
  asio::io_context loop;
  ScriptedEngine engine(loop,
                        [](const std::string&) { return ScriptedAnswer("", Then::kNothing); });
  int results = 0;
  {
    Scraper scraper(loop.get_executor(), system_clock(), [&](auto) { ++results; });
    scraper.set_targets({slow(engine.port(), "a"), target_of(engine.port(), "waits")});
    ASSERT_TRUE(run_until(loop, [&] { return engine.paths().size() == 1; }));
  }
  ASSERT_TRUE(run_until(loop, [&] { return engine.ended_connections() == 1; }));
  EXPECT_EQ(results, 0);
}

}  // namespace
}  // namespace loadline::scrape
