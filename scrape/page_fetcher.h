// Fetches the page of one target, again and again: the kept connection, the path that its redirects
// led to, and the deadline of a whole scrape. Data loop only; one fetch at a time.
#pragma once

#include "base/clock.h"
#include "scrape/scrape_result.h"
#include "scrape/target.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>

namespace loadline::net {
struct HttpResponseHead;
}

namespace loadline::scrape {

class PageFetcher {
 public:
  // REQUIRES: target.wanted is not null.
  PageFetcher(boost::asio::any_io_executor executor, Target target, const Clock& clock);
  ~PageFetcher();
  PageFetcher(const PageFetcher&) = delete;
  PageFetcher& operator=(const PageFetcher&) = delete;

  // Ends within the target's timeout. REQUIRES: the fetcher lives until then.
  boost::asio::awaitable<ScrapeResult> fetch();

  // Ends a fetch under way and all later ones at once; what they bring means nothing.
  void abandon();

 private:
  struct Connection;
  boost::asio::awaitable<void> fetch_page();
  boost::asio::awaitable<void> ask();
  bool take_head(const net::HttpResponseHead& head);
  bool take_redirect(const net::HttpResponseHead& head);
  void fail(ScrapeFailure failure, std::string message);
  void set_alarm();

  const Target target_;
  const Clock& clock_;
  std::string path_;  // where the page was found
  std::shared_ptr<Connection> connection_;
  boost::asio::steady_timer alarm_;
  ScrapeResult result_;  // of the fetch under way
};

}  // namespace loadline::scrape
