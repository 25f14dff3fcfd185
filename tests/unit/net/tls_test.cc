#include "net/tls.h"

#include "tests/unit/net/net_fixture.h"

#include <boost/asio/ssl/context.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <future>
#include <string>

namespace loadline::net {
namespace {

namespace asio = boost::asio;

KeyPair self_signed(const std::string& name) {
  const auto pair = make_self_signed(name, {"server.test", "127.0.0.1"});
  EXPECT_TRUE(pair);
  return *pair;
}

TlsContext server_context(const KeyPair& pair) {
  const auto context = make_server_context(pair.certificate_pem, pair.key_pem);
  EXPECT_TRUE(context) << context.error().message;
  return *context;
}

TlsContext trusting(const std::string& ca_pem) {
  ClientTls tls;
  tls.ca_pem = ca_pem;
  return *make_client_context(tls);
}

HttpServer::Options options_with(const TlsContext& context) {
  HttpServer::Options options;
  options.tls = [context] { return context; };
  return options;
}

Result<HttpResponse> fetch(std::uint16_t port, TlsContext tls, std::string server_name,
                           HttpLimits limits = {}) {
  asio::io_context loop;
  HttpClient http(loop.get_executor(),
                  Endpoint{"127.0.0.1", port, std::move(tls), std::move(server_name)}, limits);
  return await(loop, http.request(HttpRequest("GET", "/")));
}

TEST(Tls, NamesAndAddressesOfTheCertificateAreVerified) {
  const KeyPair pair = self_signed("cn.test");
  ServerThread server(options_with(server_context(pair)));
  const auto f = [&](const std::string& name, bool good) {
    const auto response = fetch(server.port(), trusting(pair.certificate_pem), name);
    EXPECT_EQ(response.has_value(), good) << name;
    if (!response) {
      EXPECT_EQ(response.error().code, Code::kUnavailable);
      EXPECT_NE(response.error().message.find("certificate is not good for " + name),
                std::string::npos)
          << response.error().message;
    }
  };
  f("server.test", true);
  f("", true);  // the address itself
  f("other.test", false);
  f("127.0.0.2", false);
  f("cn.test", false);  // in CN alone
}

TEST(Tls, AnotherAuthorityOrAnExpiredCertificateIsRefusedWithItsReason) {
  const KeyPair ca = self_signed("ca");
  const KeyPair other = self_signed("other ca");
  const auto expired = make_signed(ca, "s", {}, {"server.test"}, -1);
  ASSERT_TRUE(expired);
  ServerThread old_server(options_with(server_context(*expired)));
  const auto old = fetch(old_server.port(), trusting(ca.certificate_pem), "server.test");
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().message.find("expired"), std::string::npos) << old.error().message;
  const auto pair = make_signed(ca, "s", {}, {"server.test"});
  ServerThread server(options_with(server_context(*pair)));
  EXPECT_TRUE(fetch(server.port(), trusting(ca.certificate_pem), "server.test"));
  EXPECT_FALSE(fetch(server.port(), trusting(other.certificate_pem), "server.test"));
  ClientTls anybody;
  anybody.insecure_skip_verify = true;
  EXPECT_TRUE(fetch(server.port(), *make_client_context(anybody), "no.test"));
  EXPECT_FALSE(fetch(server.port(), *make_client_context(ClientTls{}), "server.test"))
      << "the system's roots do not know it";
}

TEST(Tls, TlsToAPlainPortAndPlainToATlsPortHaveTheirReasons) {
  ServerThread plain;
  const KeyPair pair = self_signed("s");
  const auto to_plain = fetch(plain.port(), trusting(pair.certificate_pem), "server.test");
  ASSERT_FALSE(to_plain);
  EXPECT_NE(to_plain.error().message.find("does not speak TLS"), std::string::npos)
      << to_plain.error().message;
  ServerThread encrypted(options_with(server_context(pair)));
  const auto to_tls = fetch(encrypted.port(), nullptr, "");
  ASSERT_FALSE(to_tls);
  EXPECT_EQ(to_tls.error().code, Code::kUnavailable);
  EXPECT_EQ(encrypted.metrics().handshake_failures_total.value(), 1U);
  // Most servers answer with an alert.
  RawServer alerting(
      [](RawSocket& peer, int) { peer.send(std::string("\x15\x03\x01\0\x02\x02F", 7)); });
  const auto to_alert = fetch(alerting.port(), nullptr, "");
  ASSERT_FALSE(to_alert);
  EXPECT_NE(to_alert.error().message.find("does the port want https"), std::string::npos)
      << to_alert.error().message;
}

TEST(Tls, AHandshakeThatHangsIsEnded) {
  HttpServer::Options options = options_with(server_context(self_signed("s")));
  options.limits.handshake_timeout = std::chrono::milliseconds(30);
  ServerThread server(options);
  RawSocket peer = RawSocket::dial(server.port());
  peer.send("\x16");
  EXPECT_EQ(peer.read_to_end(), "");
}

TEST(Tls, TheServerSeesAnyClientCertificateAndNoneToo) {
  const KeyPair pair = self_signed("s");
  const HttpHandler who =
      [](std::shared_ptr<const ServerRequest> request) -> asio::awaitable<ServerResponse> {
    ServerResponse response;
    response.body = std::make_shared<const std::string>(request->peer ? "known" : "anonymous");
    co_return response;
  };
  ServerThread server(options_with(server_context(pair)), who);
  const KeyPair stranger = self_signed("stranger");
  ClientTls tls;
  tls.ca_pem = pair.certificate_pem;
  const auto anonymous = fetch(server.port(), *make_client_context(tls), "server.test");
  ASSERT_TRUE(anonymous) << anonymous.error().message;
  EXPECT_EQ(anonymous->body, "anonymous");
  tls.certificate_pem = stranger.certificate_pem;
  tls.key_pem = stranger.key_pem;
  const auto known = fetch(server.port(), *make_client_context(tls), "server.test");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known->body, "known");
}

TEST(Tls, AServerThatDemandsACertificateGivesItsReason) {
  const KeyPair pair = self_signed("s");
  const TlsContext strict = server_context(pair);
  SSL_CTX_set_verify(strict->native_handle(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  ServerThread server(options_with(strict));
  const auto response = fetch(server.port(), trusting(pair.certificate_pem), "server.test");
  ASSERT_FALSE(response);
  EXPECT_NE(response.error().message.find("certificate required"), std::string::npos)
      << response.error().message;
}

TEST(Tls, OnlyHttp11IsNegotiatedAndNothingBelowTls12) {
  const KeyPair pair = self_signed("s");
  ServerThread server(options_with(server_context(pair)));
  const auto f = [&](const std::string& offered, int most_version, bool good) {
    const TlsContext client = trusting(pair.certificate_pem);
    SSL_CTX* native = client->native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_VERSION);
    SSL_CTX_set_security_level(native, 0);
    SSL_CTX_set_max_proto_version(native, most_version);
    const void* bytes = offered.data();
    SSL_CTX_set_alpn_protos(native, static_cast<const unsigned char*>(bytes),
                            static_cast<unsigned>(offered.size()));
    RawSocket peer = RawSocket::dial(server.port());
    EXPECT_EQ(peer.start_tls(client, false), good);
    if (!good) return;
    peer.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(peer.read_to_end().find("HTTP/1.1 200"), 0U);
  };
  f("\x02h2\x08http/1.1", 0, true);
  f("", 0, true);
  f("\x02h2", 0, false);
  f("\x08http/1.1", TLS1_2_VERSION, true);
  f("\x08http/1.1", TLS1_1_VERSION, false);
}

TEST(Tls, PairsThatDoNotFitAreRefused) {
  const KeyPair a = self_signed("a");
  const KeyPair b = self_signed("b");
  EXPECT_FALSE(make_server_context(a.certificate_pem, b.key_pem));
  EXPECT_FALSE(make_server_context("", a.key_pem));
  EXPECT_FALSE(make_server_context(a.certificate_pem, "garbage"));
  ClientTls half;
  half.certificate_pem = a.certificate_pem;
  EXPECT_FALSE(make_client_context(half));
  ClientTls no_ca;
  no_ca.ca_pem = "garbage";
  EXPECT_FALSE(make_client_context(no_ca));
}

// Field case B55: a TLS peer that ends the connection without close_notify.
Result<HttpResponse> from_abrupt_server(const std::string& answer, bool says_goodbye = false) {
  const KeyPair pair = self_signed("s");
  const TlsContext context = server_context(pair);
  RawServer server([&](RawSocket& peer, int) {
    if (!peer.start_tls(context, true)) return;
    peer.read_until("\r\n\r\n");
    peer.send(answer);
    if (says_goodbye) peer.say_tls_goodbye();
  });
  return fetch(server.port(), trusting(pair.certificate_pem), "server.test");
}

TEST(Tls, B55aWholeBodyByLengthIsGood) {
  const auto r = from_abrupt_server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->body, "hello");
}

TEST(Tls, B55bWholeChunkedBodyIsGood) {
  const auto r = from_abrupt_server(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->body, "hello");
}

TEST(Tls, B55cHalfABodyIsCutShort) {
  const auto r = from_abrupt_server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kUnavailable);
  EXPECT_NE(r.error().message.find("cut short"), std::string::npos) << r.error().message;
}

TEST(Tls, B55dABodyWithoutLengthNeedsTheGoodbye) {
  const std::string answer = "HTTP/1.0 200 OK\r\n\r\nhello";
  const auto cut = from_abrupt_server(answer);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::kUnavailable);
  EXPECT_NE(cut.error().message.find("cut short"), std::string::npos) << cut.error().message;
  const auto whole = from_abrupt_server(answer, true);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->body, "hello");
}

TEST(Tls, B55eAPeerThatNeverAnswersOurShutdownHoldsNothingUp) {
  const KeyPair pair = self_signed("s");
  const TlsContext context = server_context(pair);
  std::promise<void> done;
  RawServer server([&](RawSocket& peer, int) {
    if (!peer.start_tls(context, true)) return;
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    done.get_future().wait();  // neither reads nor closes before the client has ended
  });
  const auto r = fetch(server.port(), trusting(pair.certificate_pem), "server.test");
  done.set_value();
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->body, "ok");
}

TEST(Tls, ADeadKeptConnectionIsReplacedUnseen) {
  const KeyPair pair = self_signed("s");
  const TlsContext context = server_context(pair);
  RawServer server([&](RawSocket& peer, int number) {
    if (!peer.start_tls(context, true)) return;
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + std::to_string(number));
    if (number == 1) peer.say_tls_goodbye();
  });
  asio::io_context loop;
  Endpoint endpoint{"127.0.0.1", server.port(), trusting(pair.certificate_pem), "server.test"};
  HttpClient http(loop.get_executor(), endpoint, HttpLimits());
  for (int i = 0; i < 3; ++i) {
    const auto response = await(loop, http.request(HttpRequest("GET", "/")));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, std::to_string(i));
  }
}

}  // namespace
}  // namespace loadline::net
