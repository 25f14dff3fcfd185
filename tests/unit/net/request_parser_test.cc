#include "net/request_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace loadline::net {
namespace {

using State = RequestParser::State;

ServerLimits small_limits() {
  ServerLimits limits;
  limits.head_bytes = 1024;
  limits.target_bytes = 128;
  limits.body_bytes = 32;
  return limits;
}

// The status a request is refused with; 0: complete; -1: wants more.
int verdict(const std::string& bytes) {
  RequestParser parser(small_limits());
  parser.feed(bytes);
  if (parser.state() == State::kFailed) return parser.status();
  return parser.state() == State::kDone ? 0 : -1;
}

const std::string kHost = "Host: a\r\n";

TEST(RequestParser, ReadsHeadersAndBodyAsTheyAre) {
  const std::string bytes =
      "POST /a%2Fb?x=1 HTTP/1.1\r\nHost: a\r\nX-Remote-User:  J\xc3\xb6rg \r\nx-empty:\r\n"
      "Content-Length: 5\r\n\r\nhelloGET";
  RequestParser parser(small_limits());
  EXPECT_EQ(parser.feed(bytes), bytes.size() - 3) << "the next request's bytes stay";
  ASSERT_EQ(parser.state(), State::kDone);
  EXPECT_TRUE(parser.keep_alive());
  const auto request = parser.take_request();
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->target, "/a%2Fb?x=1");
  EXPECT_EQ(request->body, "hello");
  ASSERT_EQ(request->headers.size(), 4U);
  EXPECT_EQ(request->headers[1].first, "X-Remote-User");
  EXPECT_EQ(request->headers[1].second, "J\xc3\xb6rg");
  EXPECT_EQ(request->headers[2].second, "");
}

TEST(RequestParser, SplitAnywhereItReadsTheSame) {
  const std::string bytes =
      "POST /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: t\r\n\r\n";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RequestParser parser(small_limits());
    const std::size_t taken = parser.feed(bytes.substr(0, cut));
    ASSERT_LE(taken, cut);
    parser.feed(bytes.substr(taken));
    ASSERT_EQ(parser.state(), State::kDone) << "cut at " << cut << ": " << parser.message();
    const auto request = parser.take_request();
    EXPECT_EQ(request->body, "hello world");
    EXPECT_EQ(request->headers.size(), 2U) << "trailers are no headers";
  }
}

TEST(RequestParser, ByteByByteItReadsTheSame) {
  const std::string bytes = "PUT /t HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  RequestParser parser(small_limits());
  std::string pending;
  for (const char byte : bytes) {
    pending += byte;
    pending.erase(0, parser.feed(pending));
  }
  ASSERT_EQ(parser.state(), State::kDone);
  EXPECT_EQ(parser.take_request()->body, "abc");
}

TEST(RequestParser, WhatTwoParsersCouldReadInTwoWaysIsRefused) {
  const auto f = [](int line, const std::string& bytes, int want) {
    EXPECT_EQ(verdict(bytes), want) << "line " << line << ": " << bytes;
  };
  const std::string get = "GET / HTTP/1.1\r\n";
  const std::string post = "POST / HTTP/1.1\r\n" + kHost;
  f(__LINE__, get + kHost + "\r\n", 0);
  f(__LINE__, "\r\n" + get + kHost + "\r\n", 0);
  // Framing
  f(__LINE__, post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400);
  f(__LINE__, post + "Content-Length: 3, 4\r\n\r\nabcd", 400);
  f(__LINE__, post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 0);
  f(__LINE__, post + "Content-Length: +3\r\n\r\nabc", 400);
  f(__LINE__, post + "Content-Length: -3\r\n\r\nabc", 400);
  f(__LINE__, post + "Content-Length: 0x3\r\n\r\nabc", 400);
  f(__LINE__, post + "Content-Length: 3 3\r\n\r\nabc", 400);
  f(__LINE__, post + "Content-Length:\r\n\r\nabc", 400);
  f(__LINE__, post + "Content-Length: 99999999999999999999\r\n\r\nabc", 400);
  f(__LINE__, post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: identity\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    400);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: \"chunked\"\r\n\r\n", 400);
  f(__LINE__, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: ChunKed\r\n\r\n0\r\n\r\n", 0);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413);
  // Lines
  f(__LINE__, get + kHost + "A: b\r\n folded\r\n\r\n", 400);
  f(__LINE__, get + kHost + "A: b\r\n\tfolded\r\n\r\n", 400);
  f(__LINE__, get + " Host: a\r\n\r\n", 400);
  f(__LINE__, "GET / HTTP/1.1\nHost: a\n\n", 400);
  f(__LINE__, get + "Host: a\n\r\n", 400);
  f(__LINE__, get + kHost + "A: b\rC: d\r\n\r\n", 400);
  f(__LINE__, get + kHost + "A: b\r\r\n\r\n", 400);
  f(__LINE__, get + kHost + std::string("A: b\0c\r\n\r\n", 10), 400);
  f(__LINE__, get + kHost + "A: b\x7f\r\n\r\n", 400);
  f(__LINE__, get + kHost + "A: b\x01\r\n\r\n", 400);
  f(__LINE__, get + kHost + "A : b\r\n\r\n", 400);
  f(__LINE__, get + kHost + "A B: c\r\n\r\n", 400);
  f(__LINE__, get + kHost + "A(: c\r\n\r\n", 400);
  f(__LINE__, get + kHost + "\xc3\xa4: c\r\n\r\n", 400);
  f(__LINE__, get + kHost + ": c\r\n\r\n", 400);
  f(__LINE__, get + kHost + "no colon\r\n\r\n", 400);
  f(__LINE__, get + kHost + "A: \x80\xff\r\n\r\n", 0);
  // Request line
  f(__LINE__, "GET /  HTTP/1.1\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "GET  / HTTP/1.1\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "GET / HTTP/1.1 \r\n" + kHost + "\r\n", 400);
  f(__LINE__, " GET / HTTP/1.1\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "GET /\r\n\r\n", 400);
  f(__LINE__, "GET / HTTP/1.2\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "GET / HTTP/2.0\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "GET / HTTP/0.9\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "GET / http/1.1\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "G(T / HTTP/1.1\r\n" + kHost + "\r\n", 400);
  f(__LINE__, "GET /a\tb HTTP/1.1\r\n" + kHost + "\r\n", 400);
  f(__LINE__, std::string("GET /\0 HTTP/1.1\r\n", 17) + kHost + "\r\n", 400);
  f(__LINE__, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400);
  f(__LINE__, "GET http://a/x HTTP/1.1\r\n" + kHost + "\r\n", 0);
  f(__LINE__, "OPTIONS * HTTP/1.1\r\n" + kHost + "\r\n", 0);
  f(__LINE__, "GET / HTTP/1.0\r\n\r\n", 0);
  // Host and Expect
  f(__LINE__, get + "\r\n", 400);
  f(__LINE__, get + kHost + kHost + "\r\n", 400);
  f(__LINE__, "GET / HTTP/1.0\r\n" + kHost + "host: b\r\n\r\n", 400);
  f(__LINE__, get + kHost + "Expect: 200-ok\r\n\r\n", 417);
  f(__LINE__, get + kHost + "Expect: 100-Continue\r\n\r\n", 0);
  // Limits
  f(__LINE__, "GET /" + std::string(127, 'a') + " HTTP/1.1\r\n" + kHost + "\r\n", 0);
  f(__LINE__, "GET /" + std::string(128, 'a') + " HTTP/1.1\r\n" + kHost + "\r\n", 414);
  f(__LINE__, "GET /" + std::string(300, 'a'), 414);
  f(__LINE__, get + kHost + "A: " + std::string(1100, 'a'), 431);
  f(__LINE__, get + kHost + "A: " + std::string(1100, 'a') + "\r\n\r\n", 431);
  f(__LINE__, post + "Content-Length: 33\r\n\r\n", 413);
  f(__LINE__, post + "Content-Length: 32\r\n\r\n", -1);
  f(__LINE__, post + "Transfer-Encoding: chunked\r\n\r\n21\r\n", 413);
  f(__LINE__,
    post + "Transfer-Encoding: chunked\r\n\r\n11\r\n" + std::string(17, 'a') + "\r\n10\r\n", 413);
}

TEST(RequestParser, KeepAliveFollowsVersionAndConnectionHeader) {
  const auto f = [](const std::string& head, bool want) {
    RequestParser parser(small_limits());
    parser.feed(head);
    ASSERT_EQ(parser.state(), State::kDone) << head;
    EXPECT_EQ(parser.keep_alive(), want) << head;
  };
  f("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true);
  f("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false);
  f("GET / HTTP/1.0\r\n\r\n", false);
  f("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true);
}

}  // namespace
}  // namespace loadline::net
