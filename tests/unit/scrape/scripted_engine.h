// An engine on loopback that answers with bytes as scripted, on the loop of the test. One thread,
// no sleeps.
#pragma once

#include "base/task_group.h"
#include "scrape/scrape_result.h"
#include "scrape/target.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace loadline::scrape {

struct ScriptedAnswer {
  enum class Then { kKeep, kClose, kNothing };  // kNothing: the connection stays open, and silent
  ScriptedAnswer(std::string b, Then t = Then::kKeep)
      : bytes(std::move(b)), then(t) {}  // NOLINT: by design
  std::string bytes;
  Then then;
};

class ScriptedEngine {
 public:
  // Given the path asked for.
  using Script = std::function<ScriptedAnswer(const std::string& path)>;

  ScriptedEngine(boost::asio::io_context& loop, Script script);
  ~ScriptedEngine();

  std::uint16_t port() const { return port_; }
  const std::vector<std::string>& paths() const { return paths_; }  // asked for so far
  const std::vector<std::string>& heads() const { return heads_; }  // the requests whole
  int connections() const { return connections_; }
  int ended_connections() const { return ended_; }

  // Sends on every open connection what was held back, and goes on.
  void send_to_all(const std::string& bytes);

 private:
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(std::shared_ptr<boost::asio::ip::tcp::socket> peer);

  boost::asio::io_context& loop_;
  Script script_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  std::vector<std::string> paths_, heads_;
  std::list<std::shared_ptr<boost::asio::ip::tcp::socket>> open_;
  int connections_ = 0, ended_ = 0;
  TaskGroup tasks_;
};

// "HTTP/1.1 200 OK" with a length and the body.
std::string page_answer(const std::string& body, const std::string& more_headers = "");

Target target_of(std::uint16_t port, std::string id = "uid-1");

// Runs the loop until the condition holds; false when it does not within long patience.
bool run_until(boost::asio::io_context& loop, const std::function<bool()>& condition);

// Runs the loop until the coroutine has ended.
ScrapeResult run(boost::asio::io_context& loop, boost::asio::awaitable<ScrapeResult> scrape);
void run(boost::asio::io_context& loop, boost::asio::awaitable<void> task);

}  // namespace loadline::scrape
