#include "net/response_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace loadline::net {
namespace {

struct Reading {
  explicit Reading(HttpLimits l = {}, bool head_only = false)
      : limits(l), parser(sink, limits, head_only) {
    sink.on_head = [this](const HttpResponseHead& h) {
      head = h;
      ++heads;
      return true;
    };
    sink.on_data = [this](std::string_view part) {
      body += part;
      return true;
    };
  }
  HttpLimits limits;
  BodySink sink;
  HttpResponseHead head;
  int heads = 0;
  std::string body;
  ResponseParser parser;
};

TEST(ResponseParser, SplitAnywhereItReadsTheSame) {
  const std::string bytes =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: t\r\n\r\n";
  const std::string next = "HTTP/1.1 500";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    Reading r;
    const std::size_t taken = r.parser.feed(bytes.substr(0, cut));
    ASSERT_LE(taken, cut);
    if (cut < bytes.size()) {
      EXPECT_FALSE(r.parser.done());
      EXPECT_EQ(r.parser.feed(bytes.substr(taken) + next), bytes.size() - taken) << cut;
    }
    ASSERT_TRUE(r.parser.done()) << "cut at " << cut;
    EXPECT_TRUE(r.parser.keep_alive());
    EXPECT_EQ(r.heads, 1);
    EXPECT_EQ(r.head.headers.size(), 2U);
    EXPECT_EQ(r.body, "hello world");
  }
}

TEST(ResponseParser, OnlyABodyWithoutLengthEndsWithTheConnection) {
  const auto f = [](const std::string& bytes, bool want) {
    Reading r;
    r.parser.feed(bytes);
    EXPECT_EQ(r.parser.feed_end(), want) << bytes;
    EXPECT_EQ(r.parser.done(), want) << bytes;
    EXPECT_FALSE(r.parser.keep_alive()) << bytes;
  };
  f("", false);
  f("HTTP/1.1 200 OK\r\nA", false);
  f("HTTP/1.1 100 Continue\r\n\r\n", false);
  f("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false);
  f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", false);
  f("HTTP/1.1 200 OK\r\n\r\n", true);
  f("HTTP/1.0 200 OK\r\n\r\nab", true);
}

TEST(ResponseParser, ALimitOfZeroBodyBytesIsNone) {
  HttpLimits limits;
  limits.body_bytes = 0;
  Reading r(limits);
  r.parser.feed("HTTP/1.1 200 OK\r\n\r\n");
  const std::string part(1'000'000, 'a');
  for (int i = 0; i < 100; ++i) r.parser.feed(part);
  EXPECT_FALSE(r.parser.failure());
  EXPECT_EQ(r.body.size(), 100 * part.size());
}

TEST(ResponseParser, WhatCannotBeUnderstoodFails) {
  const auto f = [](const std::string& bytes, Code want) {
    HttpLimits limits;
    limits.head_bytes = 100;
    limits.body_bytes = 10;
    Reading r(limits);
    r.parser.feed(bytes);
    ASSERT_TRUE(r.parser.failure()) << bytes;
    EXPECT_EQ(r.parser.failure()->code, want) << bytes;
    EXPECT_FALSE(r.parser.done()) << bytes;
  };
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  f("HTTQ", Code::kInternal);
  f("\x16\x03", Code::kInternal);
  f("HTTP/2 200 OK\r\n\r\n", Code::kInternal);
  f("HTTP/1.1 2x0 OK\r\n\r\n", Code::kInternal);
  f(ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", Code::kInternal);
  f(ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", Code::kInternal);
  f(ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n", Code::kInternal);
  f(ok + std::string(100, 'a'), Code::kTooLarge);
  f(ok + "Content-Length: 11\r\n\r\n", Code::kTooLarge);
  f(ok + "\r\n" + std::string(11, 'a'), Code::kTooLarge);
  f(ok + "Transfer-Encoding: chunked\r\n\r\nb\r\n", Code::kTooLarge);
}

}  // namespace
}  // namespace loadline::net
