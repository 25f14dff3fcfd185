// The metrics API over a real HTTPS server on loopback, with real client certificates: what the
// aggregation layer sends and what it needs to get back.
#include "net/http_client.h"
#include "net/http_server.h"
#include "tests/unit/apiserver/api_fixture.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::apiserver {
namespace {

namespace asio = boost::asio;
using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kServerName = "loadline.monitoring.svc";

asio::awaitable<Result<net::HttpResponse>> send_one(net::HttpClient& client,
                                                    net::HttpRequest request) {
  Result<net::HttpResponse> response = co_await client.request(std::move(request));
  co_return response;
}

asio::awaitable<bool> stop_server(net::HttpServer& server) {
  const std::chrono::milliseconds drain(2'000);
  co_await server.stop(drain);
  co_return true;
}

class ApiContractTest : public ::testing::Test {
 protected:
  ApiContractTest() {
    const auto certificate = net::make_self_signed(kServerName, {kServerName});
    certificate_ = certificate.value();
    const net::TlsContext tls =
        net::make_server_context(certificate_.certificate_pem, certificate_.key_pem).value();
    net::HttpServer::Options options;
    options.bind_address = "127.0.0.1";
    options.tls = [tls] { return tls; };
    server_ = std::make_unique<net::HttpServer>(loop_.get_executor(), options,
                                                api_.server.handler(), &ApiServer::on_error);
    const Status started = server_->start();
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().message);
    api_.provider.answer = [](const provider::PodMetricQuery&) {
      return FakeProvider::Answer(
          std::vector<provider::PodMetricItem>{item("p-0", 1.5, 1'767'319'445, 60)});
    };
  }

  ~ApiContractTest() override { run(stop_server(*server_)); }

  template <class T>
  T run(asio::awaitable<T> task) {
    std::optional<T> result;
    auto ended = [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    };
    asio::co_spawn(loop_, std::move(task), ended);
    loop_.restart();
    while (!result && loop_.run_one() > 0) {
    }
    return std::move(result.value());
  }

  // identity: the client certificate, null for none.
  std::unique_ptr<net::HttpClient> dial(const net::KeyPair* identity) {
    net::ClientTls tls;
    tls.ca_pem = certificate_.certificate_pem;
    if (identity != nullptr) {
      tls.certificate_pem = identity->certificate_pem;
      tls.key_pem = identity->key_pem;
    }
    net::Endpoint endpoint;
    endpoint.host = "127.0.0.1";
    endpoint.port = server_->port();
    endpoint.server_name = kServerName;
    endpoint.tls = net::make_client_context(tls).value();
    return std::make_unique<net::HttpClient>(loop_.get_executor(), endpoint, net::HttpLimits());
  }

  net::HttpResponse ask(net::HttpClient& client, const std::string& method,
                        const std::string& target, net::Headers headers) {
    net::HttpRequest request(method, target);
    request.headers = std::move(headers);
    Result<net::HttpResponse> response = run(send_one(client, std::move(request)));
    EXPECT_TRUE(response.has_value()) << (response ? "" : response.error().message);
    return response ? std::move(*response) : net::HttpResponse();
  }

  net::HttpResponse ask(const net::KeyPair* identity, const std::string& method,
                        const std::string& target, net::Headers headers = {}) {
    const auto client = dial(identity);
    net::HttpResponse response = ask(*client, method, target, std::move(headers));
    client->close();
    return response;
  }

  TestServer api_;
  asio::io_context loop_;
  net::KeyPair certificate_;
  std::unique_ptr<net::HttpServer> server_;
};

const net::Headers kMasters = {{"X-Remote-User", "system:kube-aggregator"},
                               {"X-Remote-Group", "system:masters"}};
const std::string kMetric = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/d/pods/%2A/m";

TEST_F(ApiContractTest, CapturedRequestsAreAnsweredOverOneKeptConnection) {
  api_.kubernetes.allow = [](const std::string&) { return true; };
  const auto client = dial(&pki().proxy);
  int answered = 0;
  for (auto& [name, captured] : captured_requests()) {
    SCOPED_TRACE(name);
    net::Headers headers;
    for (auto& header : captured.headers) {
      if (header.first != "Host") headers.push_back(std::move(header));
    }
    const net::HttpResponse response =
        ask(*client, captured.method, captured.target, std::move(headers));
    EXPECT_TRUE(response.status == 200 || response.status == 404)
        << response.status << response.body;
    ASSERT_NE(net::find_header(response.headers, "Audit-Id"), nullptr);
    EXPECT_EQ(net::find_header(response.headers, "Retry-After"), nullptr);
    ++answered;
  }
  EXPECT_EQ(answered, 8);
  EXPECT_EQ(server_->metrics().connections_total.value(), 1u);
  EXPECT_EQ(api_.authenticator.metrics().certificate_verifications_total.value(), 1u);
}

TEST_F(ApiContractTest, TheHpaGetsItsMetric) {
  const net::HttpResponse response = ask(&pki().proxy, "GET", kMetric, kMasters);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(*net::find_header(response.headers, "Content-Type"), "application/json");
  EXPECT_EQ(*net::find_header(response.headers, "Cache-Control"), "no-cache, private");
  EXPECT_EQ(Json::parse(response.body).at("items")[0].at("value"), "1500m");
}

TEST_F(ApiContractTest, IdentitiesAreTakenFromVerifiedProxiesAlone) {
  EXPECT_EQ(ask(nullptr, "GET", kMetric, kMasters).status, 403);
  EXPECT_EQ(ask(&pki().stranger, "GET", kMetric, kMasters).status, 401);
  EXPECT_EQ(ask(&pki().wrong_name, "GET", kMetric, kMasters).status, 401);
  const net::HttpResponse as_jane = ask(&pki().user, "GET", kMetric, kMasters);
  EXPECT_EQ(as_jane.status, 403);
  EXPECT_THAT(as_jane.body, HasSubstr("User \\\"jane\\\""));
  EXPECT_EQ(ask(&pki().proxy, "GET", kMetric, kMasters).status, 200);
}

TEST_F(ApiContractTest, B22WithoutClientCaTheFrontProxyStillCounts) {
  api_.trust.publish(trust_of(cluster_config(false)));
  EXPECT_EQ(ask(&pki().proxy, "GET", kMetric, kMasters).status, 200);
  EXPECT_EQ(ask(&pki().user, "GET", kMetric).status, 401);
  EXPECT_EQ(ask(nullptr, "GET", "/readyz").status, 200);
}

TEST_F(ApiContractTest, BearerTokensAreReviewed) {
  api_.kubernetes.allow = [](const std::string& spec) {
    return spec.find("\"alice\"") != std::string::npos;
  };
  EXPECT_EQ(ask(nullptr, "GET", kMetric, {{"Authorization", "Bearer good-token"}}).status, 200);
  EXPECT_EQ(ask(nullptr, "GET", kMetric, {{"Authorization", "Bearer bad-token"}}).status, 401);
}

TEST_F(ApiContractTest, RawUtf8NamesArriveInTheReview) {
  EXPECT_EQ(ask(&pki().proxy, "GET", kMetric, {{"X-Remote-User", "j\xC3\xBCrgen"}}).status, 403);
  ASSERT_EQ(api_.kubernetes.access_reviews.size(), 1u);
  EXPECT_EQ(Json::parse(api_.kubernetes.access_reviews[0]).at("spec").at("user"), "j\xC3\xBCrgen");
}

TEST_F(ApiContractTest, UnchangedDiscoveryIs304WithoutABody) {
  const net::HttpResponse first = ask(&pki().proxy, "GET", "/apis", kMasters);
  net::Headers headers = kMasters;
  headers.emplace_back("If-None-Match", *net::find_header(first.headers, "ETag"));
  const auto client = dial(&pki().proxy);
  const net::HttpResponse again = ask(*client, "GET", "/apis", headers);
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(ask(*client, "GET", "/apis", kMasters).status, 200);  // the connection is still in step
}

TEST_F(ApiContractTest, ChangingMethodsAndUpgradesAreRefused) {
  EXPECT_EQ(ask(&pki().proxy, "DELETE", kMetric, kMasters).status, 405);
  EXPECT_EQ(ask(&pki().proxy, "POST", kMetric, kMasters).status, 405);
}

TEST_F(ApiContractTest, MalformedTargetsAreAStatus) {
  for (const char* target : {"/apis/%zz", "/a%00b", "/a%2Fb"}) {
    const net::HttpResponse response = ask(&pki().proxy, "GET", target, kMasters);
    EXPECT_EQ(response.status, 400) << target;
    EXPECT_EQ(Json::parse(response.body).at("kind"), "Status") << target;
  }
}

TEST_F(ApiContractTest, WhatNeverReachesTheHandlerIsAStatusToo) {
  const net::HttpResponse response =
      ask(&pki().proxy, "GET", "/" + std::string(20'000, 'x'), kMasters);
  EXPECT_EQ(response.status, 414);
  EXPECT_EQ(Json::parse(response.body).at("status"), "Failure");
}

}  // namespace
}  // namespace loadline::apiserver
