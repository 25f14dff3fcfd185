#include "net/http_client.h"

#include "base/task_group.h"
#include "net/request_head.h"
#include "tests/unit/net/net_fixture.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <future>
#include <string>

namespace loadline::net {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

HttpLimits test_limits() {
  HttpLimits limits;
  limits.connect_timeout = std::chrono::seconds(kPatienceSeconds);
  limits.head_timeout = std::chrono::seconds(kPatienceSeconds);
  limits.body_timeout = std::chrono::seconds(kPatienceSeconds);
  return limits;
}

// A client to a port of this machine, on its own loop.
struct Client {
  explicit Client(std::uint16_t port, HttpLimits limits = test_limits(), TlsContext tls = nullptr,
                  std::string server_name = "")
      : http(loop.get_executor(),
             Endpoint{"127.0.0.1", port, std::move(tls), std::move(server_name)}, limits) {}
  Result<HttpResponse> get(const std::string& target = "/") {
    return await(loop, http.request(HttpRequest("GET", target)));
  }
  asio::io_context loop;
  HttpClient http;
};

// Answers every request of every connection with the same bytes, then closes.
RawServer answering(std::string bytes) {
  return RawServer([bytes = std::move(bytes)](RawSocket& peer, int) {
    if (peer.read_until("\r\n\r\n").empty()) return;
    peer.send(bytes);
  });
}

Code code_of(const Result<HttpResponse>& result) {
  EXPECT_FALSE(result);
  return result ? Code::kNotFound : result.error().code;
}

TEST(HttpClient, TalksToOurServerOnOneKeptConnection) {
  ServerThread server;
  Client client(server.port());
  for (int i = 0; i < 3; ++i) {
    const auto response = client.get("/x?" + std::to_string(i));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "GET /x?" + std::to_string(i) + " ");
    EXPECT_EQ(*find_header(response->headers, "content-TYPE"), "text/plain");
  }
  HttpRequest post("POST", "/y");
  post.body = "text";
  const auto response = await(client.loop, client.http.request(std::move(post)));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "POST /y text");
  EXPECT_EQ(server.metrics().connections_total.value(), 1U);
  EXPECT_TRUE(client.http.connected());
}

TEST(HttpClient, HeadHasNoBody) {
  ServerThread server;
  Client client(server.port());
  const auto head = await(client.loop, client.http.request(HttpRequest("HEAD", "/long")));
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->body, "");
  EXPECT_TRUE(client.get());
  EXPECT_EQ(server.metrics().connections_total.value(), 1U);
}

TEST(HttpClient, ReadsEveryKindOfBody) {
  const auto f = [](int line, const std::string& bytes, const std::string& want) {
    RawServer server = answering(bytes);
    Client client(server.port());
    const auto response = client.get();
    ASSERT_TRUE(response) << "line " << line << ": " << response.error().message;
    EXPECT_EQ(response->body, want) << "line " << line;
  };
  f(__LINE__, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello");
  f(__LINE__,
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;e=1\r\nhel\r\n2\r\nlo\r\n0\r\nT: "
    "x\r\n\r\n",
    "hello");
  f(__LINE__, "HTTP/1.0 200 OK\r\n\r\nhello", "hello");
  f(__LINE__, "HTTP/1.1 204 No Content\r\n\r\n", "");
  f(__LINE__, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "");
  f(__LINE__,
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "hi");
}

TEST(HttpClient, ABodyInSmallPiecesIsHandedOnAsItComes) {
  RawServer server([](RawSocket& peer, int) {
    peer.read_until("\r\n\r\n");
    const std::string bytes =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    for (const char byte : bytes) peer.send(std::string(1, byte));
  });
  Client client(server.port());
  std::string body;
  int heads = 0;
  BodySink sink;
  sink.on_head = [&](const HttpResponseHead& head) {
    EXPECT_TRUE(body.empty());
    EXPECT_EQ(head.status, 200);
    return ++heads == 1;
  };
  sink.on_data = [&](std::string_view part) {
    body += part;
    return true;
  };
  const auto status = await(client.loop, client.http.stream(HttpRequest("GET", "/"), sink));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, 200);
  EXPECT_EQ(body, "hello");
  EXPECT_EQ(heads, 1);
}

TEST(HttpClient, AnUnwantedBodyEndsTheRequestWellAndTheConnection) {
  for (const bool at_head : {true, false}) {
    RawServer server = answering("HTTP/1.1 503 Busy\r\nContent-Length: 1000000\r\n\r\nabc");
    Client client(server.port());
    BodySink sink;
    sink.on_head = [&](const HttpResponseHead&) { return !at_head; };
    sink.on_data = [](std::string_view) { return false; };
    const auto status = await(client.loop, client.http.stream(HttpRequest("GET", "/"), sink));
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, 503);
    EXPECT_FALSE(client.http.connected());
  }
}

TEST(HttpClient, CutAnswersAreUnavailable) {
  const auto f = [](int line, const std::string& bytes) {
    RawServer server = answering(bytes);
    Client client(server.port());
    const auto response = client.get();
    EXPECT_EQ(code_of(response), Code::kUnavailable) << "line " << line;
    EXPECT_NE(response.error().message.find("cut short"), std::string::npos)
        << response.error().message;
    EXPECT_FALSE(client.http.connected());
  };
  f(__LINE__, "");
  f(__LINE__, "HTTP/1.1 200 OK\r\nContent-Le");
  f(__LINE__, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
  f(__LINE__, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  f(__LINE__, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n");
}

TEST(HttpClient, MalformedAnswersAreInternal) {
  const auto f = [](int line, const std::string& bytes) {
    RawServer server = answering(bytes);
    Client client(server.port());
    EXPECT_EQ(code_of(client.get()), Code::kInternal) << "line " << line;
  };
  f(__LINE__, "SSH-2.0-OpenSSH\r\n");
  f(__LINE__, "\x15\x03\x01\r\n\r\n");
  f(__LINE__, "HTTP/1.1 abc\r\n\r\n");
  f(__LINE__, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n");
  f(__LINE__, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n");
  f(__LINE__, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
}

TEST(HttpClient, OversizedAnswersAreTooLarge) {
  HttpLimits limits = test_limits();
  limits.head_bytes = 1000;
  limits.body_bytes = 100;
  const auto f = [&](int line, const std::string& bytes, bool good) {
    RawServer server = answering(bytes);
    Client client(server.port(), limits);
    const auto response = client.get();
    if (good) {
      EXPECT_TRUE(response) << "line " << line;
    } else {
      EXPECT_EQ(code_of(response), Code::kTooLarge) << "line " << line;
    }
  };
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string body(100, 'a');
  f(__LINE__, ok + "A: " + std::string(1000, 'a') + "\r\n\r\n", false);
  f(__LINE__, ok + "Content-Length: 100\r\n\r\n" + body, true);
  f(__LINE__, ok + "Content-Length: 101\r\n\r\n" + body + "a", false);
  f(__LINE__, ok + "\r\n" + body, true);
  f(__LINE__, ok + "\r\n" + body + "a", false);
  f(__LINE__, ok + "Transfer-Encoding: chunked\r\n\r\n64\r\n" + body + "\r\n0\r\n\r\n", true);
  f(__LINE__, ok + "Transfer-Encoding: chunked\r\n\r\n64\r\n" + body + "\r\n1\r\na\r\n0\r\n\r\n",
    false);
}

TEST(HttpClient, DeadlinesEndEachPhaseAndCloseTheConnection) {
  const auto f = [](const std::string& bytes, HttpLimits limits, const std::string& phase) {
    RawServer server([&](RawSocket& peer, int) {
      peer.read_until("\r\n\r\n");
      peer.send(bytes);
      EXPECT_EQ(peer.read_to_end(), "") << "the client closes";
    });
    Client client(server.port(), limits);
    const auto response = client.get();
    EXPECT_EQ(code_of(response), Code::kTimeout);
    EXPECT_NE(response.error().message.find(phase), std::string::npos) << response.error().message;
    EXPECT_FALSE(client.http.connected());
  };
  HttpLimits limits = test_limits();
  limits.head_timeout = milliseconds(30);
  f("", limits, "waiting for the answer");
  f("HTTP/1.1 200 OK\r\nA:", limits, "response head");
  limits = test_limits();
  limits.body_timeout = milliseconds(30);
  f("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", limits, "response body");
  limits.body_timeout = milliseconds(0);
  limits.idle_timeout = milliseconds(30);
  f("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", limits, "more of the body");
}

TEST(HttpClient, ATlsHandshakeThatHangsEndsByTheConnectTimeout) {
  RawServer server([](RawSocket& peer, int) { peer.read_to_end(); });
  HttpLimits limits = test_limits();
  limits.connect_timeout = milliseconds(30);
  ClientTls anybody;
  anybody.insecure_skip_verify = true;
  Client client(server.port(), limits, *make_client_context(anybody));
  const auto response = client.get();
  EXPECT_EQ(code_of(response), Code::kTimeout);
  EXPECT_NE(response.error().message.find("TLS handshake"), std::string::npos);
}

TEST(HttpClient, ADeadKeptConnectionIsReplacedUnseen) {
  // Each connection answers one request and is then closed, without having said so.
  for (const bool reset : {false, true}) {
    RawServer server([reset](RawSocket& peer, int number) {
      peer.read_until("\r\n\r\n");
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + std::to_string(number));
      if (reset) peer.reset_on_close();
    });
    Client client(server.port());
    for (int i = 0; i < 3; ++i) {
      const auto response = client.get();
      ASSERT_TRUE(response) << response.error().message;
      EXPECT_EQ(response->body, std::to_string(i));
    }
  }
}

// The server reads the second request on the kept connection and closes instead of answering.
RawServer dying_at_the_second() {
  return RawServer([](RawSocket& peer, int number) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + std::to_string(number));
    peer.read_until("\r\n\r\n");
  });
}

TEST(HttpClient, OnlyGetIsSentTwice) {
  {
    RawServer server = dying_at_the_second();
    Client client(server.port());
    ASSERT_TRUE(client.get());
    const auto response = client.get();
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "1") << "by the second connection";
  }
  RawServer server = dying_at_the_second();
  Client client(server.port());
  ASSERT_TRUE(client.get());
  const auto response = await(client.loop, client.http.request(HttpRequest("POST", "/")));
  EXPECT_EQ(code_of(response), Code::kUnavailable);
}

TEST(HttpClient, AFreshConnectionThatDiesIsNotTriedAgain) {
  std::atomic<int> connections = 0;
  RawServer server([&](RawSocket& peer, int) {
    ++connections;
    peer.read_until("\r\n\r\n");
  });
  Client client(server.port());
  EXPECT_EQ(code_of(client.get()), Code::kUnavailable);
  EXPECT_EQ(connections, 1);
}

TEST(HttpClient, ConnectionsWithSomethingLeftOverAreNotKept) {
  for (const std::string answer :
       {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na",
        "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"}) {
    RawServer server = answering(answer);
    Client client(server.port());
    EXPECT_TRUE(client.get());
    EXPECT_FALSE(client.http.connected()) << answer;
  }
}

TEST(HttpClient, RefusedAndUnknownAreUnavailable) {
  std::uint16_t closed_port = 0;
  {
    RawServer server = answering("");
    closed_port = server.port();
  }
  Client client(closed_port);
  const auto refused = client.get();
  EXPECT_EQ(code_of(refused), Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("refused"), std::string::npos) << refused.error().message;
  asio::io_context loop;
  HttpClient unknown(loop.get_executor(), Endpoint{"no-such-host.invalid", 80, nullptr, ""},
                     test_limits());
  const auto unresolved = await(loop, unknown.request(HttpRequest("GET", "/")));
  EXPECT_EQ(code_of(unresolved), Code::kUnavailable);
  EXPECT_NE(unresolved.error().message.find("no-such-host.invalid"), std::string::npos);
}

TEST(HttpClient, NamesAreResolved) {
  ServerThread server;
  asio::io_context loop;
  HttpClient http(loop.get_executor(), Endpoint{"localhost", server.port(), nullptr, ""},
                  test_limits());
  const auto response = await(loop, http.request(HttpRequest("GET", "/")));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
}

asio::awaitable<void> request_into(HttpClient& http, std::optional<Result<HttpResponse>>& result) {
  HttpRequest request("GET", "/");
  result.emplace(co_await http.request(std::move(request)));
}

TEST(HttpClient, CancellationAndCloseEndARequestAtOnce) {
  for (const bool by_close : {false, true}) {
    std::promise<void> asked;
    RawServer server([&](RawSocket& peer, int) {
      peer.read_until("\r\n\r\n");
      asked.set_value();
      peer.read_to_end();
    });
    Client client(server.port());
    TaskGroup tasks(client.loop.get_executor());
    std::optional<Result<HttpResponse>> result;
    tasks.spawn("request", request_into(client.http, result));
    auto asked_now = asked.get_future();
    while (asked_now.wait_for(milliseconds(0)) != std::future_status::ready) {
      client.loop.run_for(milliseconds(1));
    }
    if (by_close) {
      client.http.close();
    } else {
      tasks.cancel();
    }
    client.loop.restart();
    client.loop.run();
    EXPECT_EQ(tasks.size(), 0U);
    EXPECT_FALSE(client.http.connected());
    if (by_close) {
      EXPECT_EQ(code_of(*result), Code::kUnavailable);
    }
  }
}

TEST(RequestHead, HostFollowsAddressAndPort) {
  const auto f = [](const std::string& host, std::uint16_t port, const std::string& want) {
    const Endpoint endpoint{host, port, nullptr, ""};
    HttpRequest request("GET", "/metrics");
    request.headers = {{"Accept", "*/*"}, {"hOst", "evil"}};
    const auto head = request_head(request, endpoint);
    ASSERT_TRUE(head);
    EXPECT_EQ(*head, "GET /metrics HTTP/1.1\r\nHost: " + want + "\r\nAccept: */*\r\n\r\n");
  };
  f("10.0.0.1", 8000, "10.0.0.1:8000");
  f("fd00::1", 8000, "[fd00::1]:8000");
  f("example", 80, "example");
}

TEST(RequestHead, NothingBreaksOutOfItsLine) {
  const Endpoint endpoint{"a", 80, nullptr, ""};
  for (const std::string target : {"/a\r\nX: y", "/a b", "", "/\x7f", "/a\n"}) {
    EXPECT_FALSE(request_head(HttpRequest("GET", target), endpoint)) << target;
  }
  HttpRequest request("GET", "/");
  request.headers = {{"A", "b\r\nC: d"}};
  EXPECT_FALSE(request_head(request, endpoint));
}

}  // namespace
}  // namespace loadline::net
