#include "kube/api_client.h"

#include "base/task_group.h"
#include "net/http_server.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/kube/temp_folder.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loadline::kube {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using std::chrono::milliseconds;

std::string header(const net::ServerRequest& request, const char* name) {
  const std::string* value = net::find_header(request.headers, name);
  return value == nullptr ? "(none)" : *value;
}

net::ServerResponse reply(int status, const std::string& body) {
  net::ServerResponse response;
  response.status = status;
  response.body = std::make_shared<const std::string>(body);
  return response;
}

// An HTTPS server on the loopback interface that answers by a function, and a client of it.
class ApiClientTest : public testing::Test {
 protected:
  using Handle = std::function<net::ServerResponse(const net::ServerRequest&)>;

  ApiClientTest() : tasks_(context_.get_executor()) {
    ca_ = net::make_self_signed("test ca", {}).value();
    const auto pair = net::make_signed(ca_, "server", {}, {"127.0.0.1"}).value();
    net::HttpServer::Options options;
    options.bind_address = "127.0.0.1";
    options.tls = [tls = net::make_server_context(pair.certificate_pem, pair.key_pem).value()] {
      return tls;
    };
    server_ = std::make_unique<net::HttpServer>(
        context_.get_executor(), std::move(options),
        [this](std::shared_ptr<const net::ServerRequest> request) {
          return serve(this, std::move(request));
        },
        [](int status, const std::string& message) { return reply(status, message); });
    EXPECT_TRUE(server_->start());
    config_.host = "127.0.0.1";
    config_.port = server_->port();
    config_.ca_pem = ca_.certificate_pem;
  }

  ApiClient& client() {
    if (!client_) {
      client_ = ApiClient::create(context_.get_executor(), clock_, config_, options_).value();
    }
    return *client_;
  }

  // Runs the loop until the task has ended, then a next one may be run.
  template <class T>
  T run(asio::awaitable<T> task) {
    std::optional<T> result;
    auto ended = [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    };
    asio::co_spawn(context_, std::move(task), ended);
    run_until([&] { return result.has_value(); });
    return std::move(result.value());
  }
  void run_until(const std::function<bool()>& done) {
    context_.restart();
    while (!done() && context_.run_one() > 0) {
    }
    ASSERT_TRUE(done());
  }

  Result<ApiResponse> get(const std::string& path) {
    return run(client().request("GET", path, "application/json", ""));
  }

  static asio::awaitable<net::ServerResponse> serve(
      ApiClientTest* test, std::shared_ptr<const net::ServerRequest> request) {
    test->seen_.push_back(*request);
    if (test->hold_) {
      const auto executor = test->context_.get_executor();
      asio::steady_timer never(executor, std::chrono::hours(1));
      test->held_.push_back(&never);
      co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
      std::erase(test->held_, &never);
    }
    co_return test->handle_(*request);
  }
  void release() {
    hold_ = false;
    for (asio::steady_timer* timer : held_) timer->cancel();
  }
  std::set<std::string> remotes() const {
    std::set<std::string> all;
    for (const auto& request : seen_) all.insert(request.remote);
    return all;
  }

  void TearDown() override {
    release();
    client_.reset();
    bool stopped = false;
    auto stop = server_->stop(milliseconds(100));
    asio::co_spawn(context_, std::move(stop), [&](std::exception_ptr) { stopped = true; });
    run_until([&] { return stopped; });
  }

  asio::io_context context_;
  ManualClock clock_;
  net::KeyPair ca_;
  ClientConfig config_;
  ApiClientOptions options_;
  Handle handle_ = [](const net::ServerRequest&) { return reply(200, "{}"); };
  std::vector<net::ServerRequest> seen_;
  bool hold_ = false;
  std::vector<asio::steady_timer*> held_;
  TaskGroup tasks_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<ApiClient> client_;
};

TEST_F(ApiClientTest, SendsWhoWeAreAndWhatWeWant) {
  const auto pair = net::make_signed(ca_, "loadline", {"group"}, {}).value();
  config_.certificate_pem = pair.certificate_pem;
  config_.key_pem = pair.key_pem;
  config_.token = "abc";
  config_.path_prefix = "/prefix";
  handle_ = [](const net::ServerRequest&) { return reply(201, R"({"a":1})"); };
  const auto response = run(client().request("POST", "/apis/x?y=z", "application/json", "{}"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->content_type, "application/json");
  EXPECT_EQ(response->body, R"({"a":1})");
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].method, "POST");
  EXPECT_EQ(seen_[0].target, "/prefix/apis/x?y=z");
  EXPECT_EQ(seen_[0].body, "{}");
  EXPECT_EQ(header(seen_[0], "Accept"), "application/json");
  EXPECT_EQ(header(seen_[0], "Content-Type"), "application/json");
  EXPECT_EQ(header(seen_[0], "Authorization"), "Bearer abc");
  EXPECT_EQ(header(seen_[0], "User-Agent").rfind("loadline/", 0), 0U);
  ASSERT_NE(seen_[0].peer, nullptr);
  const auto verifier = net::ClientCertificateVerifier::create(ca_.certificate_pem).value();
  EXPECT_EQ(verifier->verify(*seen_[0].peer)->common_name, "loadline");
}

TEST_F(ApiClientTest, WithoutCredentialsItIsAnonymous) {
  ASSERT_TRUE(get("/version"));
  EXPECT_EQ(header(seen_[0], "Authorization"), "(none)");
  EXPECT_EQ(header(seen_[0], "Content-Type"), "(none)");
  EXPECT_EQ(seen_[0].peer, nullptr);
}

// B86: the token file is replaced; the API refuses the old token.
TEST_F(ApiClientTest, B86ARefusedTokenIsReadAnewAndTriedOnceMore) {
  const TempFolder folder;
  config_.token_file = folder.write("token", "old\n");
  handle_ = [&](const net::ServerRequest& request) {
    if (header(request, "Authorization") == "Bearer new") return reply(200, "ok");
    folder.write("token", "new\n");
    return reply(401, "refused");
  };
  const auto response = get("/api/v1/pods");
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(seen_.size(), 2U);
  ASSERT_EQ(get("/api/v1/pods")->status, 200);
  EXPECT_EQ(seen_.size(), 3U);
}

TEST_F(ApiClientTest, ARefusedTokenThatStaysIsNotTriedAgain) {
  const TempFolder folder;
  config_.token_file = folder.write("token", "old");
  handle_ = [](const net::ServerRequest&) { return reply(401, "refused"); };
  EXPECT_EQ(get("/api/v1/pods")->status, 401);
  EXPECT_EQ(seen_.size(), 1U);

  // Another token each time: one more attempt, no more.
  int n = 0;
  handle_ = [&](const net::ServerRequest&) {
    folder.write("token", "new" + std::to_string(++n));
    return reply(401, "refused");
  };
  EXPECT_EQ(get("/api/v1/pods")->status, 401);
  EXPECT_EQ(seen_.size(), 3U);
}

TEST_F(ApiClientTest, TheTokenFileIsReadAnewEveryTenSeconds) {
  const TempFolder folder;
  config_.token_file = folder.write("token", "one");
  ASSERT_TRUE(get("/a"));
  folder.write("token", "two");
  clock_.advance(std::chrono::seconds(9));
  ASSERT_TRUE(get("/b"));
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(get("/c"));
  // An unreadable file does not take the good token away.
  std::filesystem::remove(config_.token_file);
  clock_.advance(std::chrono::seconds(10));
  ASSERT_TRUE(get("/d"));
  ASSERT_EQ(seen_.size(), 4U);
  EXPECT_EQ(header(seen_[1], "Authorization"), "Bearer one");
  EXPECT_EQ(header(seen_[2], "Authorization"), "Bearer two");
  EXPECT_EQ(header(seen_[3], "Authorization"), "Bearer two");
}

TEST_F(ApiClientTest, WithoutATokenFromTheStartNothingIsSent) {
  config_.token_file = "/nowhere/token";
  const auto response = get("/api/v1/pods?limit=1");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message.rfind("GET /api/v1/pods: ", 0), 0U)
      << response.error().message;
  EXPECT_NE(response.error().message.find("/nowhere/token"), std::string::npos);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(ApiClientTest, KeepsItsConnectionForAMinute) {
  ASSERT_TRUE(get("/a"));
  clock_.advance(std::chrono::seconds(60));
  ASSERT_TRUE(get("/b"));
  EXPECT_EQ(remotes().size(), 1U);
  clock_.advance(std::chrono::seconds(61));
  ASSERT_TRUE(get("/c"));
  EXPECT_EQ(remotes().size(), 2U);
}

asio::awaitable<void> ask(ApiClient* client, std::vector<Result<ApiResponse>>* answers) {
  std::string method = "GET";
  std::string path = "/many";
  std::string accept = "*/*";
  std::string body;
  auto response = co_await client->request(std::move(method), std::move(path), std::move(accept),
                                           std::move(body));
  answers->push_back(std::move(response));
}

TEST_F(ApiClientTest, OpensAFewConnectionsHoweverManyAsk) {
  options_.connections = 2;
  std::vector<Result<ApiResponse>> answers;
  for (int i = 0; i < 8; ++i) tasks_.spawn("ask", ask(&client(), &answers));
  run_until([&] { return answers.size() == 8; });
  for (const auto& answer : answers) EXPECT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(remotes().size(), 2U);
}

TEST_F(ApiClientTest, WaitsForATurnOnlySoLong) {
  options_.connections = 1;
  options_.queue_timeout = milliseconds(20);
  hold_ = true;
  std::vector<Result<ApiResponse>> answers;
  for (int i = 0; i < 2; ++i) tasks_.spawn("ask", ask(&client(), &answers));
  run_until([&] { return answers.size() == 1; });
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().code, Code::kTimeout);
  EXPECT_EQ(answers[0].error().message,
            "GET /many: all 1 connections to the Kubernetes API are busy");
  run_until([&] { return held_.size() == 1; });
  release();
  run_until([&] { return answers.size() == 2; });
  EXPECT_TRUE(answers[1]);
}

TEST_F(ApiClientTest, ACancelledRequestGivesItsTurnBack) {
  options_.connections = 1;
  hold_ = true;
  std::vector<Result<ApiResponse>> answers;
  for (int i = 0; i < 3; ++i) tasks_.spawn("ask", ask(&client(), &answers));
  run_until([&] { return held_.size() == 1; });
  tasks_.cancel();
  run_until([&] { return tasks_.size() == 0; });
  release();
  EXPECT_TRUE(get("/after"));
}

struct Streamed {
  std::string content_type, data, error_body;
};

Transport::StreamSink sink_into(Streamed& streamed) {
  Transport::StreamSink sink;
  sink.on_open = [&](const std::string& type) { streamed.content_type = type; };
  sink.on_data = [&](std::string_view part) {
    streamed.data += part;
    return true;
  };
  sink.on_error_body = [&](std::string body) { streamed.error_body = std::move(body); };
  return sink;
}

TEST_F(ApiClientTest, StreamsOnAConnectionOfItsOwn) {
  ASSERT_TRUE(get("/a"));
  handle_ = [](const net::ServerRequest&) { return reply(200, std::string(300'000, 'x')); };
  Streamed streamed;
  const auto sink = sink_into(streamed);
  const auto status =
      run(client().stream("/api/v1/pods?watch=true", "application/vnd.kubernetes.protobuf", sink));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, 200);
  EXPECT_EQ(streamed.content_type, "application/json");
  EXPECT_EQ(streamed.data.size(), 300'000U);
  EXPECT_EQ(streamed.error_body, "");
  EXPECT_EQ(seen_[1].method, "GET");
  EXPECT_EQ(header(seen_[1], "Accept"), "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(remotes().size(), 2U);
}

TEST_F(ApiClientTest, AStreamEndsWhenItsReaderHasEnough) {
  handle_ = [](const net::ServerRequest&) { return reply(200, std::string(3'000'000, 'x')); };
  Streamed streamed;
  auto sink = sink_into(streamed);
  sink.on_data = [&](std::string_view part) {
    streamed.data += part;
    return false;
  };
  const auto status = run(client().stream("/w", "*/*", sink));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, 200);
  EXPECT_LT(streamed.data.size(), 3'000'000U);
}

TEST_F(ApiClientTest, ARefusedStreamHandsItsBodyOverBounded) {
  Streamed streamed;
  const auto sink = sink_into(streamed);
  handle_ = [](const net::ServerRequest&) { return reply(410, "gone"); };
  EXPECT_EQ(run(client().stream("/w", "*/*", sink)).value(), 410);
  EXPECT_EQ(streamed.error_body, "gone");
  EXPECT_EQ(streamed.data, "");
  EXPECT_EQ(streamed.content_type, "");

  handle_ = [](const net::ServerRequest&) { return reply(500, std::string(1'000'000, 'x')); };
  EXPECT_EQ(run(client().stream("/w", "*/*", sink)).value(), 500);
  EXPECT_EQ(streamed.error_body.size(), 64U << 10);
}

TEST_F(ApiClientTest, B86AStreamTriesANewTokenToo) {
  const TempFolder folder;
  config_.token_file = folder.write("token", "old");
  handle_ = [&](const net::ServerRequest& request) {
    if (header(request, "Authorization") == "Bearer new") return reply(200, "events");
    folder.write("token", "new");
    return reply(401, "refused");
  };
  Streamed streamed;
  const auto sink = sink_into(streamed);
  EXPECT_EQ(run(client().stream("/w", "*/*", sink)).value(), 200);
  EXPECT_EQ(streamed.data, "events");
  EXPECT_EQ(streamed.error_body, "");
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_F(ApiClientTest, DoesNotTalkToAServerOfAnotherCa) {
  config_.ca_pem = net::make_self_signed("another", {}).value().certificate_pem;
  config_.token = "secret";
  const auto response = get("/api/v1/pods");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message.rfind("GET /api/v1/pods: ", 0), 0U)
      << response.error().message;
  EXPECT_TRUE(seen_.empty());
  client_.reset();
  config_.insecure_skip_verify = true;
  config_.ca_pem.clear();
  EXPECT_TRUE(get("/api/v1/pods"));
}

TEST_F(ApiClientTest, TheNameToVerifyMayBeGiven) {
  config_.server_name = "api.example.com";
  EXPECT_FALSE(get("/api/v1/pods"));
  EXPECT_TRUE(seen_.empty());
}

TEST_F(ApiClientTest, UnusableTlsMaterialIsAnErrorAtTheStart) {
  config_.ca_pem = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
  const auto client = ApiClient::create(context_.get_executor(), clock_, config_);
  ASSERT_FALSE(client);
  EXPECT_NE(client.error().message.find("127.0.0.1"), std::string::npos) << client.error().message;
}

// A plain server that speaks by the byte: one text for each request, the connection closed after it
// where told.
class RawServer {
 public:
  struct Turn {
    std::string answer;
    bool close = false;
  };
  RawServer(asio::io_context& context, std::vector<Turn> script)
      : acceptor_(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        tasks_(context.get_executor()),
        script_(std::move(script)) {
    tasks_.spawn("accept", accept(this));
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  int connections() const { return connections_; }
  TaskGroup& tasks() { return tasks_; }

 private:
  static asio::awaitable<void> accept(RawServer* server) {
    for (;;) {
      auto [error, socket] =
          co_await server->acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
      if (error) co_return;
      ++server->connections_;
      server->tasks_.spawn("serve", serve(server, std::move(socket)));
    }
  }
  static asio::awaitable<void> serve(RawServer* server, tcp::socket socket) {
    asio::streambuf buffer;
    for (;;) {
      const std::string end = "\r\n\r\n";
      auto [error, size] =
          co_await asio::async_read_until(socket, buffer, end, asio::as_tuple(asio::use_awaitable));
      if (error || server->next_ >= server->script_.size()) co_return;
      buffer.consume(buffer.size());
      const Turn turn = server->script_[server->next_++];
      const auto bytes = asio::buffer(turn.answer);
      co_await asio::async_write(socket, bytes, asio::as_tuple(asio::use_awaitable));
      if (turn.close) co_return;
    }
  }

  tcp::acceptor acceptor_;
  TaskGroup tasks_;
  std::vector<Turn> script_;
  std::size_t next_ = 0;
  int connections_ = 0;
};

class RawApiClientTest : public testing::Test {
 protected:
  void start(std::vector<RawServer::Turn> script) {
    server_.emplace(context_, std::move(script));
    ClientConfig config;
    config.host = "127.0.0.1";
    config.port = server_->port();
    config.tls = false;
    client_ = ApiClient::create(context_.get_executor(), clock_, config, options_).value();
  }

  template <class T>
  T run(asio::awaitable<T> task) {
    std::optional<T> result;
    auto ended = [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    };
    asio::co_spawn(context_, std::move(task), ended);
    context_.restart();
    while (!result && context_.run_one() > 0) {
    }
    return std::move(result.value());
  }

  void TearDown() override {
    server_->tasks().cancel();
    context_.restart();
    while (server_->tasks().size() > 0 && context_.run_one() > 0) {
    }
  }

  asio::io_context context_;
  ManualClock clock_;
  ApiClientOptions options_;
  std::optional<RawServer> server_;
  std::unique_ptr<ApiClient> client_;
};

constexpr const char* kOk = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";

TEST_F(RawApiClientTest, AReviewSurvivesAKeptConnectionThatThePeerClosed) {
  start({{kOk, true}, {kOk, true}, {kOk, false}});
  for (int i = 0; i < 3; ++i) {
    const auto response = run(client_->request("POST", "/reviews", "*/*", "{}"));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 201);
  }
  EXPECT_EQ(server_->connections(), 3);
}

TEST_F(RawApiClientTest, AStreamThatFallsSilentIsGivenUp) {
  options_.stream_idle_timeout = milliseconds(30);
  start({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false}});
  std::string data;
  Transport::StreamSink sink;
  sink.on_data = [&](std::string_view part) {
    data += part;
    return true;
  };
  const auto status =
      run(client_->stream("/api/v1/pods?watch=true&timeoutSeconds=300", "*/*", sink));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTimeout);
  EXPECT_EQ(status.error().message.rfind("watch /api/v1/pods: ", 0), 0U) << status.error().message;
  EXPECT_EQ(data, "abc");
}

TEST_F(RawApiClientTest, AStreamCutShortIsAnError) {
  start({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", true}});
  Transport::StreamSink sink;
  sink.on_data = [](std::string_view) { return true; };
  const auto status = run(client_->stream("/w", "*/*", sink));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUnavailable);
}

TEST_F(RawApiClientTest, ARefusalWhoseBodyIsCutShortStaysOne) {
  start({{"HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nabc", true}});
  std::string body;
  Transport::StreamSink sink;
  sink.on_data = [](std::string_view) { return true; };
  sink.on_error_body = [&](std::string text) { body = std::move(text); };
  const auto status = run(client_->stream("/w", "*/*", sink));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, 410);
  EXPECT_EQ(body, "abc");
}

TEST_F(RawApiClientTest, AnAnswerThatDoesNotComeIsATimeout) {
  options_.limits.head_timeout = milliseconds(30);
  start({{"", false}});
  const auto response = run(client_->request("GET", "/api/v1/pods", "*/*", ""));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kTimeout);
}

TEST_F(RawApiClientTest, AnAnswerPastItsLimitIsRefused) {
  options_.limits.body_bytes = 100;
  start({{"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'), false}});
  const auto response = run(client_->request("GET", "/api/v1/pods", "*/*", ""));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kTooLarge);
}

}  // namespace
}  // namespace loadline::kube
