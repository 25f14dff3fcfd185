#include "net/http_server.h"

#include "net/http_session.h"
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

std::string get(const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n";
}

std::string send_and_read(const ServerThread& server, const std::string& bytes) {
  RawSocket peer = RawSocket::dial(server.port());
  peer.send(bytes);
  std::string answer = peer.read_to_end();
  EXPECT_FALSE(peer.ended_by_reset());
  return answer;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// A handler that waits, once for each request, until the test lets it go on.
struct Gate {
  std::promise<void> entered;
  std::promise<void> open;
  HttpHandler handler() {
    return
        [this](std::shared_ptr<const ServerRequest> request) { return wait(std::move(request)); };
  }
  asio::awaitable<ServerResponse> wait(std::shared_ptr<const ServerRequest> request) {
    entered.set_value();
    auto future = open.get_future();
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer pause(executor);
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      pause.expires_after(milliseconds(1));
      co_await pause.async_wait(asio::use_awaitable);
    }
    ServerResponse response;
    response.body = std::make_shared<const std::string>("late " + request->target);
    co_return response;
  }
};

TEST(HttpServer, AnswersWithLengthTypeAndDate) {
  ServerThread server;
  const std::string answer = send_and_read(server, get("/x", "Connection: close\r\n"));
  EXPECT_EQ(answer.find("HTTP/1.1 200 OK\r\nDate: "), 0U) << answer;
  EXPECT_NE(answer.find(" GMT\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n"
                        "Connection: close\r\n\r\nGET /x "),
            std::string::npos)
      << answer;
  EXPECT_EQ(server.metrics().requests_total.value(), 1U);
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  ServerThread server;
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += get("/" + std::to_string(i));
  requests += get("/end", "Connection: close\r\n");
  const std::string answers = send_and_read(server, requests);
  EXPECT_EQ(count(answers, "HTTP/1.1 200"), 1001U);
  std::size_t at = 0;
  for (int i = 0; i < 1000; ++i) {
    at = answers.find("GET /" + std::to_string(i) + " ", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(HttpServer, ARequestInPiecesIsOneRequest) {
  ServerThread server;
  RawSocket peer = RawSocket::dial(server.port());
  for (const char* piece : {"PO", "ST / HTTP/1.1\r\nHo", "st: a\r\nContent-Length: 4\r", "\n\r\nab",
                            "cdGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    peer.send(piece);
  }
  EXPECT_NE(peer.read_until("POST / abcd").find("200"), std::string::npos);
  EXPECT_NE(peer.read_until("GET /2 ").find("200"), std::string::npos);
}

TEST(HttpServer, HeadIsAnsweredWithTheLengthAlone) {
  ServerThread server;
  const std::string answer =
      send_and_read(server, "HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 8\r\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.substr(answer.size() - 4), "\r\n\r\n") << answer;
}

TEST(HttpServer, Http10ClosesByDefault) {
  ServerThread server;
  const std::string answer = send_and_read(server, "GET /old HTTP/1.0\r\n\r\n");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  EXPECT_NE(answer.find("GET /old "), std::string::npos) << answer;
}

TEST(HttpServer, AHalfClosedClientGetsItsAnswer) {
  ServerThread server;
  RawSocket peer = RawSocket::dial(server.port());
  peer.send(get("/half"));
  peer.shut_down_sending();
  EXPECT_NE(peer.read_to_end().find("GET /half "), std::string::npos);
}

TEST(HttpServer, MalformedRequestsAreAnsweredOnceAndClosedWithoutReset) {
  ServerThread server;
  const std::string smuggled = get("/smuggled");
  const std::string answer = send_and_read(
      server,
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" +
          smuggled);
  EXPECT_EQ(answer.find("HTTP/1.1 400 Bad Request\r\n"), 0U) << answer;
  EXPECT_EQ(count(answer, "HTTP/1.1 "), 1U) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(server.metrics().bad_requests_total.value(), 1U);
  EXPECT_EQ(server.metrics().requests_total.value(), 0U);
}

TEST(HttpServer, Http2PrefaceIsRefused) {
  ServerThread server;
  const std::string answer = send_and_read(server, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(answer.find("HTTP/1.1 400 "), 0U) << answer;
}

TEST(HttpServer, OversizedPartsHaveTheirStatusAndTheAnswerArrives) {
  HttpServer::Options options;
  options.limits.head_bytes = 8192;
  options.limits.target_bytes = 1024;
  options.limits.body_bytes = 1000;
  ServerThread server(options);
  const auto f = [&](const std::string& bytes, const std::string& want) {
    EXPECT_EQ(send_and_read(server, bytes).find("HTTP/1.1 " + want), 0U) << want;
  };
  f(get("/" + std::string(2000, 'a')), "414 ");
  f(get("/", "A: " + std::string(1'000'000, 'a') + "\r\n"), "431 ");
  // The client writes the whole body before it reads: no reset may destroy the answer.
  f("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'a'),
    "413 ");
  f("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" +
        std::string(1024, 'a') + "\r\n",
    "413 ");
  f("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(20'000, 'a'),
    "400 ");
}

TEST(HttpServer, ASlowRequestIsAnswered408) {
  HttpServer::Options options;
  options.limits.head_timeout = milliseconds(50);
  ServerThread server(options);
  EXPECT_EQ(send_and_read(server, "GET / HT").find("HTTP/1.1 408 "), 0U);
  EXPECT_EQ(send_and_read(server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")
                .find("HTTP/1.1 408 "),
            0U);
}

TEST(HttpServer, ASilentConnectionIsClosedWithoutAWord) {
  HttpServer::Options options;
  options.limits.head_timeout = milliseconds(30);
  options.limits.idle_timeout = milliseconds(30);
  ServerThread server(options);
  EXPECT_EQ(send_and_read(server, ""), "");
  RawSocket kept = RawSocket::dial(server.port());
  kept.send(get("/"));
  EXPECT_EQ(count(kept.read_to_end(), "HTTP/1.1 "), 1U);
}

TEST(HttpServer, ExpectingClientsAreToldToContinue) {
  ServerThread server;
  RawSocket peer = RawSocket::dial(server.port());
  peer.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("ab");
  EXPECT_EQ(peer.read_until("PUT / ab").find("HTTP/1.1 200 "), 0U);
}

TEST(HttpServer, TargetsAreHandedOnAsTheyAre) {
  ServerThread server;
  for (const std::string target :
       {"/a/../b//c", "/%2e%2E/%00", "http://a/x?y", "/?a=b#c", "/\xc3\xa4"}) {
    const std::string answer = send_and_read(server, get(target, "Connection: close\r\n"));
    EXPECT_NE(answer.find("\r\n\r\nGET " + target + " "), std::string::npos) << answer;
  }
}

TEST(HttpServer, AThrowingHandlerIs500AndTheNextConnectionWorks) {
  ServerThread server(
      {}, [](std::shared_ptr<const ServerRequest> request) -> asio::awaitable<ServerResponse> {
        if (request->target == "/bad") throw std::runtime_error("bug");
        co_return ServerResponse();
      });
  EXPECT_EQ(send_and_read(server, get("/bad")).find("HTTP/1.1 500 "), 0U);
  EXPECT_EQ(send_and_read(server, get("/", "Connection: close\r\n")).find("HTTP/1.1 200 "), 0U);
}

TEST(HttpServer, LargeBodiesArriveWholeOverPlainAndTls) {
  const auto body = std::make_shared<std::string>(3'000'000, 'x');
  for (std::size_t i = 0; i < body->size(); i += 1000) (*body)[i] = static_cast<char>('a' + i % 26);
  const std::shared_ptr<const std::string> shared = body;
  const HttpHandler handler =
      [shared](std::shared_ptr<const ServerRequest>) -> asio::awaitable<ServerResponse> {
    ServerResponse response;
    response.body = shared;
    co_return response;
  };
  const auto pair = make_self_signed("server", {"localhost", "127.0.0.1"});
  ASSERT_TRUE(pair);
  for (const bool encrypted : {false, true}) {
    HttpServer::Options options;
    TlsContext client;
    if (encrypted) {
      const auto context = make_server_context(pair->certificate_pem, pair->key_pem);
      ASSERT_TRUE(context);
      options.tls = [tls = *context] { return tls; };
      ClientTls trust;
      trust.ca_pem = pair->certificate_pem;
      client = *make_client_context(trust);
    }
    ServerThread server(options, handler);
    asio::io_context loop;
    Endpoint endpoint{"127.0.0.1", server.port(), client, ""};
    HttpClient http(loop.get_executor(), endpoint, HttpLimits());
    const auto response = await(loop, http.request(HttpRequest("GET", "/")));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_TRUE(response->body == *body);
  }
}

TEST(HttpServer, TooManyConnectionsCostTheOldestSilentOne) {
  HttpServer::Options options;
  options.limits.connections = 2;
  ServerThread server(options);
  RawSocket active = RawSocket::dial(server.port());
  active.send(get("/1"));
  EXPECT_NE(active.read_until("GET /1 "), "");
  RawSocket silent = RawSocket::dial(server.port());
  RawSocket third = RawSocket::dial(server.port());
  third.send(get("/3"));
  EXPECT_NE(third.read_until("GET /3 ").find("200"), std::string::npos);
  EXPECT_EQ(silent.read_to_end(), "") << "made room";
  // Two that have asked are in: the next is the one refused.
  RawSocket fourth = RawSocket::dial(server.port());
  EXPECT_EQ(fourth.read_to_end(), "");
  active.send(get("/5"));
  EXPECT_NE(active.read_until("GET /5 ").find("200"), std::string::npos);
  EXPECT_EQ(server.metrics().connections_refused_total.value(), 2U);
}

TEST(HttpServer, StopLetsTheRequestUnderWayEndAndClosesIdleConnections) {
  Gate gate;
  ServerThread server({}, gate.handler());
  RawSocket idle = RawSocket::dial(server.port());
  RawSocket busy = RawSocket::dial(server.port());
  busy.send(get("/busy"));
  gate.entered.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { server.stop(std::chrono::seconds(20)); });
  EXPECT_EQ(idle.read_to_end(), "");
  idle.close();
  gate.open.set_value();
  const std::string answer = busy.read_to_end();
  EXPECT_NE(answer.find("late /busy"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  busy.close();
  stopped.get();
  EXPECT_EQ(server.metrics().connections.value(), 0);
}

TEST(HttpServer, StopCutsWhatOutlastsTheDrain) {
  Gate gate;
  ServerThread server({}, gate.handler());
  RawSocket busy = RawSocket::dial(server.port());
  busy.send(get("/busy"));
  gate.entered.get_future().wait();
  server.stop(milliseconds(20));
  EXPECT_EQ(busy.read_to_end(), "");
  EXPECT_EQ(server.metrics().connections.value(), 0);
}

TEST(HttpServer, ASlowReaderIsGivenUp) {
  HttpServer::Options options;
  options.limits.write_timeout = milliseconds(50);
  const auto big = std::make_shared<const std::string>(64'000'000, 'x');
  ServerThread server(
      options, [big](std::shared_ptr<const ServerRequest>) -> asio::awaitable<ServerResponse> {
        ServerResponse response;
        response.body = big;
        co_return response;
      });
  RawSocket peer = RawSocket::dial(server.port());
  peer.send(get("/"));
  // The server closes it without our reading anything: only then does stop() find no request to
  // wait for.
  while (server.metrics().connections.value() > 0 || server.metrics().requests_total.value() == 0) {
    std::this_thread::yield();
  }
  EXPECT_LT(peer.read_to_end().size(), big->size());
}

TEST(HttpServer, APortInUseIsAnErrorWithACure) {
  ServerThread server;
  asio::io_context loop;
  HttpServer::Options options;
  options.bind_address = "127.0.0.1";
  options.port = server.port();
  HttpServer second(loop.get_executor(), options, ServerThread::echo_handler(), {});
  const Status status = second.start();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("choose another port"), std::string::npos)
      << status.error().message;
  options.bind_address = "localhost";
  HttpServer third(loop.get_executor(), options, ServerThread::echo_handler(), {});
  EXPECT_FALSE(third.start());
}

TEST(ResponseHead, NothingOfTheHandlersBreaksTheFraming) {
  ServerResponse response;
  response.status = 200;
  response.body = std::make_shared<const std::string>("abc");
  response.headers = {{"X-Good", "yes"}, {"X-Bad", "a\r\nSet-Cookie: b"}, {"Content-Length", "9"}};
  EXPECT_EQ(response_head(response, false, "D"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Type: application/json\r\nContent-Length: 3\r\n"
            "X-Good: yes\r\n\r\n");
  response.status = 304;
  EXPECT_EQ(response_head(response, true, "D"),
            "HTTP/1.1 304 Not Modified\r\nDate: D\r\nX-Good: yes\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace loadline::net
