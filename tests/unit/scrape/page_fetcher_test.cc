#include "scrape/page_fetcher.h"

#include "scrape/scraper.h"
#include "tests/unit/scrape/scripted_engine.h"

#include <gtest/gtest.h>

namespace loadline::scrape {
namespace {

namespace asio = boost::asio;
using Then = ScriptedAnswer::Then;

const std::string kPage = "vllm:num_requests_running{model_name=\"m\",e=\"0\"} 4\n";

// One scrape of an engine that answers so.
ScrapeResult scraped(ScriptedAnswer answer) {
  asio::io_context loop;
  ScriptedEngine engine(loop, [&](const std::string&) { return answer; });
  Target target = target_of(engine.port());
  return run(loop, scrape_once(std::move(target), system_clock()));
}

void expect_good(const ScrapeResult& result) {
  EXPECT_EQ(result.failure, ScrapeFailure::kNone) << result.message;
  ASSERT_EQ(result.samples.size(), 1u);
  EXPECT_EQ(result.samples[0].value, 4);
}

void expect_failed(const ScrapeResult& result, ScrapeFailure failure, const std::string& message) {
  EXPECT_EQ(to_string(result.failure), to_string(failure)) << result.message;
  EXPECT_NE(result.message.find(message), std::string::npos) << result.message;
  EXPECT_TRUE(result.samples.empty());
  EXPECT_EQ(result.samples_on_page, 0u);
}

TEST(PageFetcher, AGoodPageIsReadAndStampedWhenItsHeadCame) {
  asio::io_context loop;
  ScriptedEngine engine(loop, [&](const std::string&) { return page_answer(kPage); });
  const SteadyTime before = system_clock().steady_now();
  Target target = target_of(engine.port(), "uid-7");
  const ScrapeResult result = run(loop, scrape_once(std::move(target), system_clock()));
  expect_good(result);
  EXPECT_EQ(result.target_id, "uid-7");
  EXPECT_EQ(result.page_bytes, kPage.size());
  EXPECT_GE(result.time, before);
  EXPECT_LE(result.time, system_clock().steady_now());
  EXPECT_GT(result.wall_time.time_since_epoch().count(), 0);
  EXPECT_GT(result.duration_s, 0);
  ASSERT_EQ(engine.heads().size(), 1u);
  const std::string& head = engine.heads()[0];
  EXPECT_NE(head.find("GET /metrics HTTP/1.1\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nAccept: text/plain;version=0.0.4;q=1,*/*;q=0.1\r\n"), std::string::npos)
      << head;
  EXPECT_EQ(head.find("ccept-"), std::string::npos) << "gzip would cost the engine: " << head;
}

TEST(PageFetcher, B47TheContentTypeDoesNotMatterToAGoodPage) {
  for (const char* type :
       {"", "content-type: text/plain\r\n", "content-type: text/html; charset=utf-8\r\n",
        "content-type: application/vnd.x\r\n", "content-type:\r\n"}) {
    expect_good(scraped(page_answer(kPage, type)));
  }
  const std::string open =
      "Content-Type: application/OpenMetrics-text; version=1.0.0; charset=utf-8\r\n";
  expect_good(scraped(page_answer(kPage + "# EOF\n", open)));
  expect_failed(scraped(page_answer(kPage, open)), ScrapeFailure::kCutShort, "# EOF");
}

TEST(PageFetcher, B47AnHtmlLoginPageIsAFailedScrapeAndNotZero) {
  expect_failed(
      scraped(page_answer("<html><form>password</form></html>", "content-type: text/html\r\n")),
      ScrapeFailure::kNotMetrics, "HTML");
  expect_failed(scraped(page_answer("[]\n", "content-type: application/json\r\n")),
                ScrapeFailure::kNotMetrics, "/prometheus/metrics");
}

TEST(PageFetcher, AnEmptyBodyIsAGoodPageWithoutSamples) {
  const ScrapeResult result = scraped(page_answer(""));
  EXPECT_EQ(result.failure, ScrapeFailure::kNone);
  EXPECT_TRUE(result.samples.empty());
}

TEST(PageFetcher, AnyStatusBut200IsAFailure) {
  for (const char* status : {"500", "404", "401", "204", "206", "301", "302", "303", "304"}) {
    const ScrapeResult result = scraped("HTTP/1.1 " + std::string(status) +
                                        " X\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n");
    expect_failed(result, ScrapeFailure::kHttpStatus, status);
  }
}

TEST(PageFetcher, ASilentOrDrippingEngineIsATimeout) {
  for (const std::string& bytes :
       {std::string(), std::string("HTTP/1.1 200"), page_answer(kPage).substr(0, 70)}) {
    asio::io_context loop;
    ScriptedEngine engine(
        loop, [&](const std::string&) { return ScriptedAnswer(bytes, Then::kNothing); });
    Target target = target_of(engine.port());
    target.timeout = std::chrono::milliseconds(200);
    expect_failed(run(loop, scrape_once(std::move(target), system_clock())),
                  ScrapeFailure::kTimeout, "200 ms");
  }
}

TEST(PageFetcher, TheDeadlineIsForAllHopsOfARedirectTogether) {
  asio::io_context loop;
  ScriptedEngine engine(loop, [&](const std::string& path) {
    if (path == "/metrics")
      return ScriptedAnswer("HTTP/1.1 307 X\r\nlocation: /2\r\ncontent-length: 0\r\n\r\n");
    return ScriptedAnswer("", Then::kNothing);
  });
  Target target = target_of(engine.port());
  target.timeout = std::chrono::milliseconds(200);
  expect_failed(run(loop, scrape_once(std::move(target), system_clock())), ScrapeFailure::kTimeout,
                "200 ms");
}

TEST(PageFetcher, B53ABodyOverTheLimitIsAFailureAndNotHalfAPage) {
  std::string page = kPage;
  while (page.size() <= 100'000) page += "other{a=\"b\"} 1\n";
  page.resize(100'001);
  const std::string chunked =
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n186a1\r\n" + page + "\r\n0\r\n\r\n";
  for (const ScriptedAnswer& answer :
       {ScriptedAnswer(page_answer(page)), ScriptedAnswer(chunked),
        ScriptedAnswer("HTTP/1.1 200 OK\r\n\r\n" + page, Then::kClose)}) {
    asio::io_context loop;
    ScriptedEngine engine(loop, [&](const std::string&) { return answer; });
    Target target = target_of(engine.port());
    target.body_bytes = 100'000;
    expect_failed(run(loop, scrape_once(target, system_clock())), ScrapeFailure::kTooLarge,
                  "100000");
    target.body_bytes = 100'001;
    expect_good(run(loop, scrape_once(target, system_clock())));
  }
}

TEST(PageFetcher, B53AnEncodingThatWasNotAskedForIsRefused) {
  expect_failed(scraped(page_answer(kPage, "Content-Encoding: gzip\r\n")),
                ScrapeFailure::kNotMetrics, "gzip");
  expect_good(scraped(page_answer(kPage, "Content-Encoding: identity\r\n")));
}

TEST(PageFetcher, ACutBodyIsAFailureAndNotHalfAPage) {
  const std::string whole = page_answer(kPage + kPage);
  expect_failed(scraped({whole.substr(0, whole.size() - 20), Then::kClose}),
                ScrapeFailure::kCutShort, "cut short");
  expect_failed(
      scraped({"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n33\r\n" + kPage + "\r\n",
               Then::kClose}),
      ScrapeFailure::kCutShort, "cut short");
  expect_failed(scraped({"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n" + kPage,
                         Then::kClose}),
                ScrapeFailure::kCutShort, "malformed");
}

TEST(PageFetcher, AConnectionWithoutAnAnswerIsAConnectFailure) {
  expect_failed(scraped({"", Then::kClose}), ScrapeFailure::kConnect, "127.0.0.1");
  expect_failed(scraped({"SSH-2.0-OpenSSH_9.2\r\n", Then::kClose}), ScrapeFailure::kProtocol,
                "not HTTP");

  asio::io_context loop;
  asio::ip::tcp::acceptor closed(loop, {asio::ip::address_v4::loopback(), 0});
  Target target = target_of(closed.local_endpoint().port());
  closed.close();
  const ScrapeResult result = run(loop, scrape_once(std::move(target), system_clock()));
  expect_failed(result, ScrapeFailure::kConnect, "refused");
  EXPECT_GT(result.time.time_since_epoch().count(), 0);
}

TEST(PageFetcher, AHeadWithoutEndIsTooLarge) {
  expect_failed(scraped({"HTTP/1.1 200 OK\r\nx: " + std::string(100'000, 'x'), Then::kNothing}),
                ScrapeFailure::kTooLarge, "head");
}

TEST(PageFetcher, B45ARedirectToTheSameServerIsFollowedAndRemembered) {
  for (const std::string form : {"absolute", "/metrics/", "metrics/"}) {
    for (const std::string status : {"307 Temporary Redirect", "308 Permanent Redirect"}) {
      asio::io_context loop;
      std::uint16_t port = 0;
      ScriptedEngine engine(loop, [&](const std::string& path) {
        if (path == "/metrics/") return page_answer(kPage);
        const std::string location =
            form == "absolute" ? "http://127.0.0.1:" + std::to_string(port) + "/metrics/" : form;
        return "HTTP/1.1 " + status + "\r\ncontent-length: 0\r\nlocation: " + location + "\r\n\r\n";
      });
      port = engine.port();
      PageFetcher fetcher(loop.get_executor(), target_of(port), system_clock());
      expect_good(run(loop, fetcher.fetch()));
      expect_good(run(loop, fetcher.fetch()));
      EXPECT_EQ(engine.paths(), (std::vector<std::string>{"/metrics", "/metrics/", "/metrics/"}))
          << form;
      EXPECT_EQ(engine.connections(), 1);
      EXPECT_NE(engine.heads()[1].find("Accept: text/plain"), std::string::npos);
    }
  }
}

TEST(PageFetcher, B45ARedirectThatIsNotFollowedIsAFailedScrapeAndNobodyElseIsAsked) {
  asio::io_context loop;
  ScriptedEngine other(loop, [&](const std::string&) { return page_answer(kPage); });
  const std::string there = "127.0.0.1:" + std::to_string(other.port());
  for (const std::string& location :
       {"http://" + there + "/metrics", "//" + there + "/metrics", "https://" + there + "/metrics",
        std::string("http://169.254.169.254/latest"), std::string()}) {
    ScriptedEngine engine(loop, [&](const std::string&) {
      return "HTTP/1.1 307 X\r\ncontent-length: 0\r\n" +
             (location.empty() ? "" : "location: " + location + "\r\n") + "\r\n";
    });
    Target target = target_of(engine.port());
    expect_failed(run(loop, scrape_once(std::move(target), system_clock())),
                  ScrapeFailure::kHttpStatus, "redirected");
    EXPECT_EQ(engine.paths().size(), 1u);
  }
  EXPECT_EQ(other.connections(), 0);
}

TEST(PageFetcher, B45ThreeRedirectsAreFollowedAndAFourthIsNot) {
  asio::io_context loop;
  int hops = 3;
  ScriptedEngine engine(loop, [&](const std::string& path) {
    const int hop = path == "/metrics" ? 0 : std::stoi(path.substr(1));
    if (hop == hops) return page_answer(kPage);
    return "HTTP/1.1 307 X\r\ncontent-length: 3\r\nlocation: /" + std::to_string(hop + 1) +
           "\r\n\r\nabc";
  });
  const Target target = target_of(engine.port());
  expect_good(run(loop, scrape_once(target, system_clock())));
  hops = 4;
  expect_failed(run(loop, scrape_once(target, system_clock())), ScrapeFailure::kHttpStatus,
                "3 redirects");
  EXPECT_EQ(engine.paths().size(), 8u);
}

TEST(PageFetcher, AFailedScrapeForgetsWhereTheRedirectLed) {
  asio::io_context loop;
  bool moved = true;
  ScriptedEngine engine(loop, [&](const std::string& path) {
    if (!moved)
      return path == "/metrics" ? page_answer(kPage)
                                : "HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n";
    if (path == "/metrics/") return page_answer(kPage);
    return std::string("HTTP/1.1 307 X\r\ncontent-length: 0\r\nlocation: metrics/\r\n\r\n");
  });
  PageFetcher fetcher(loop.get_executor(), target_of(engine.port()), system_clock());
  expect_good(run(loop, fetcher.fetch()));
  moved = false;
  expect_failed(run(loop, fetcher.fetch()), ScrapeFailure::kHttpStatus, "404");
  expect_good(run(loop, fetcher.fetch()));
}

TEST(PageFetcher, AConnectionThatTheEngineClosedMeanwhileIsReplacedUnseen) {
  asio::io_context loop;
  ScriptedEngine engine(
      loop, [&](const std::string&) { return ScriptedAnswer(page_answer(kPage), Then::kClose); });
  PageFetcher fetcher(loop.get_executor(), target_of(engine.port()), system_clock());
  for (int i = 1; i <= 3; ++i) {
    expect_good(run(loop, fetcher.fetch()));
    ASSERT_TRUE(run_until(loop, [&] { return engine.ended_connections() == i; }));
  }
  EXPECT_EQ(engine.connections(), 3);
}

TEST(PageFetcher, APathThatCouldSmuggleALineIsNeverSent) {
  asio::io_context loop;
  ScriptedEngine engine(loop, [&](const std::string&) { return page_answer(kPage); });
  Target target = target_of(engine.port());
  target.path = "/metrics HTTP/1.1\r\nX-Evil: 1";
  expect_failed(run(loop, scrape_once(std::move(target), system_clock())), ScrapeFailure::kConnect,
                "percent-encode");
  EXPECT_TRUE(engine.paths().empty());
}

TEST(PageFetcher, AnAbandonedFetchEndsAtOnce) {
  asio::io_context loop;
  ScriptedEngine engine(loop,
                        [&](const std::string&) { return ScriptedAnswer("", Then::kNothing); });
  PageFetcher fetcher(loop.get_executor(), target_of(engine.port()), system_clock());
  bool ended = false;
  TaskGroup tasks(loop.get_executor());
  const auto fetch = [](PageFetcher* f, bool* e) -> asio::awaitable<void> {
    const ScrapeResult result = co_await f->fetch();
    EXPECT_TRUE(result.samples.empty());
    *e = true;
  };
  tasks.spawn("fetch", fetch(&fetcher, &ended));
  ASSERT_TRUE(run_until(loop, [&] { return !engine.paths().empty(); }));
  fetcher.abandon();
  EXPECT_TRUE(run_until(loop, [&] { return ended; }));
}

}  // namespace
}  // namespace loadline::scrape
