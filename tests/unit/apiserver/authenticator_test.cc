#include "apiserver/authenticator.h"

#include "tests/unit/apiserver/api_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loadline::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AuthenticatorTest : public ::testing::Test {
 protected:
  Result<kube::UserInfo> ask(net::Headers headers, net::PeerCertificatePtr peer = nullptr) {
    auto request = std::make_shared<net::ServerRequest>();
    request->method = "GET";
    request->target = "/";
    request->headers = std::move(headers);
    request->peer = std::move(peer);
    return run_to_end(authenticator_.authenticate(request));
  }

  ManualClock clock_;
  Snapshot<AuthenticationTrust> trust_{trust_of(cluster_config())};
  FakeKubernetes kubernetes_;
  DelegatedAuthenticator authenticator_{trust_, &kubernetes_, clock_,
                                        DelegatedAuthenticator::Options()};
};

TEST_F(AuthenticatorTest, TheFrontProxySpeaksForItsUsers) {
  const auto user = ask({{"X-Remote-Extra-Authentication.kubernetes.io%2fcredential-Id", "JTI=0"},
                         {"X-Remote-Extra-Sco%2fpes%25x", "a"},
                         {"X-Remote-Extra-Sco%2fpes%25x", "b"},
                         {"X-Remote-Extra-D%c3%a9", "c"},
                         {"X-Remote-Extra-Bad%zz", "d"},
                         {"X-Remote-Group", "one"},
                         {"x-remote-group", "two words"},
                         {"X-Remote-Uid", "u"},
                         {"X-Remote-User", "j\xC3\xBCrgen"}},
                        peer_of(pki().proxy));
  ASSERT_TRUE(user.has_value()) << user.error().message;
  EXPECT_EQ(user->name, "j\xC3\xBCrgen");
  EXPECT_EQ(user->uid, "");  // no uid header is listed
  EXPECT_THAT(user->groups, ElementsAre("one", "two words", "system:authenticated"));
  EXPECT_THAT(user->extra.at("authentication.kubernetes.io/credential-id"), ElementsAre("JTI=0"));
  EXPECT_THAT(user->extra.at("sco/pes%x"), ElementsAre("a", "b"));
  EXPECT_THAT(user->extra.at("d\xC3\xA9"), ElementsAre("c"));
  EXPECT_THAT(user->extra.at("bad%zz"), ElementsAre("d"));
}

TEST_F(AuthenticatorTest, TheUidHeaderCountsWhenItIsListed) {
  kube::AuthenticationConfig config = cluster_config();
  config.uid_headers = {"X-Remote-Uid"};
  trust_.publish(trust_of(config));
  EXPECT_EQ(ask({{"X-Remote-User", "u"}, {"X-Remote-Uid", "7"}}, peer_of(pki().proxy))->uid, "7");
}

TEST_F(AuthenticatorTest, UsersWithoutGroupsAreAuthenticatedAllTheSame) {
  EXPECT_THAT(ask({{"X-Remote-User", "system:aggregator"}}, peer_of(pki().proxy))->groups,
              ElementsAre("system:authenticated"));
}

TEST_F(AuthenticatorTest, ForwardedAnonymousUsersStayAnonymous) {
  const auto user =
      ask({{"X-Remote-User", "system:anonymous"}, {"X-Remote-Group", "system:unauthenticated"}},
          peer_of(pki().proxy));
  EXPECT_THAT(user->groups, ElementsAre("system:unauthenticated"));
}

// Every way of sending an identity without the right certificate (the matrix of S7).
TEST_F(AuthenticatorTest, IdentityHeadersNeedAVerifiedFrontProxy) {
  const std::vector<net::Headers> forgeries = {
      {{"X-Remote-User", "admin"}, {"X-Remote-Group", "system:masters"}},
      {{"x-remote-user", "admin"}, {"x-remote-group", "system:masters"}},
      {{"X_Remote_User", "admin"}, {"X_Remote_Group", "system:masters"}},
      {{"X-Remote-User", ""}, {"X-Remote-Group", "system:masters"}},
      {{"X-Remote-User", "admin"},
       {"X-Remote-User", "other"},
       {"X-Remote-Group", "system:masters"}},
      {{"X-Remote-Group", "system:masters"}},
  };
  for (const net::Headers& headers : forgeries) {
    const auto plain = ask(headers);
    ASSERT_TRUE(plain.has_value());
    EXPECT_EQ(plain->name, "system:anonymous");
    EXPECT_THAT(plain->groups, ElementsAre("system:unauthenticated"));
    EXPECT_TRUE(plain->extra.empty());

    EXPECT_EQ(ask(headers, peer_of(pki().stranger)).error().code, Code::kUnauthorized);
    EXPECT_EQ(ask(headers, peer_of(pki().wrong_name)).error().code, Code::kUnauthorized);

    const auto by_certificate = ask(headers, peer_of(pki().user));
    ASSERT_TRUE(by_certificate.has_value());
    EXPECT_EQ(by_certificate->name, "jane");
    EXPECT_THAT(by_certificate->groups, ElementsAre("dev", "ops", "system:authenticated"));

    net::Headers with_token = headers;
    with_token.emplace_back("Authorization", "Bearer good-token");
    const auto by_token = ask(with_token);
    ASSERT_TRUE(by_token.has_value());
    EXPECT_EQ(by_token->name, "alice");
    EXPECT_THAT(by_token->groups, ElementsAre("readers", "system:authenticated"));
  }
}

TEST_F(AuthenticatorTest, UnderscoresAreNoDashesEvenFromTheFrontProxy) {
  // Nothing names a user, so the certificate speaks for itself, and the client CA does not know it.
  EXPECT_FALSE(ask({{"X_Remote_User", "admin"}}, peer_of(pki().proxy)).has_value());
}

TEST_F(AuthenticatorTest, TheRefusalOfAWrongNameSaysSo) {
  EXPECT_THAT(ask({{"X-Remote-User", "admin"}}, peer_of(pki().wrong_name)).error().message,
              HasSubstr("cn=somebody is not in the allowed list"));
}

TEST_F(AuthenticatorTest, AnyNameWillDoWhereNoneIsListed) {
  kube::AuthenticationConfig config = cluster_config();
  config.allowed_names.clear();
  trust_.publish(trust_of(config));
  EXPECT_EQ(ask({{"X-Remote-User", "u"}}, peer_of(pki().wrong_name))->name, "u");
}

TEST_F(AuthenticatorTest, CertificateUsersCarryTheirCredentialId) {
  const auto user = ask({}, peer_of(pki().user));
  const auto& id = user->extra.at("authentication.kubernetes.io/credential-id");
  ASSERT_EQ(id.size(), 1u);
  EXPECT_EQ(id[0].size(), std::string("X509SHA256=").size() + 64);
}

TEST_F(AuthenticatorTest, B22AClusterWithoutClientCaWorks) {
  std::string config_map = testdata("B22-authn-configmap.json");
  const std::string placeholder = "(PEM of the front-proxy CA)";
  std::string pem = pki().front_ca.certificate_pem;
  for (std::size_t at = 0; (at = pem.find('\n', at)) != std::string::npos; at += 2)
    pem.replace(at, 1, "\\n");
  config_map.replace(config_map.find(placeholder), placeholder.size(), pem);
  const auto config = kube::parse_authentication_config_map(config_map);
  ASSERT_TRUE(config.has_value()) << config.error().message;
  const auto trust = make_authentication_trust(*config);
  ASSERT_TRUE(trust.has_value()) << trust.error().message;
  EXPECT_TRUE((*trust)->loaded);
  trust_.publish(*trust);

  EXPECT_EQ(ask({{"X-Remote-User", "u"}}, peer_of(pki().proxy))->name, "u");
  EXPECT_FALSE(ask({{"X-Remote-User", "u"}}, peer_of(pki().stranger)).has_value());
  EXPECT_FALSE(ask({}, peer_of(pki().user)).has_value());
  EXPECT_EQ(ask({{"Authorization", "Bearer good-token"}})->name, "alice");

  // The key appears later, and is used without a restart.
  trust_.publish(trust_of(cluster_config()));
  EXPECT_EQ(ask({}, peer_of(pki().user))->name, "jane");
}

TEST_F(AuthenticatorTest, ARotatedCaCountsAtOnceForAKnownConnection) {
  const net::PeerCertificatePtr connection = peer_of(pki().stranger);
  EXPECT_FALSE(ask({{"X-Remote-User", "u"}}, connection).has_value());
  kube::AuthenticationConfig config = cluster_config();
  config.requestheader_ca_pem += pki().other_ca.certificate_pem;
  trust_.publish(trust_of(config));
  EXPECT_EQ(ask({{"X-Remote-User", "u"}}, connection)->name, "u");
  trust_.publish(trust_of(cluster_config()));
  EXPECT_FALSE(ask({{"X-Remote-User", "u"}}, connection).has_value());
}

TEST_F(AuthenticatorTest, ACertificateIsVerifiedOncePerTtlAndConnection) {
  const net::PeerCertificatePtr connection = peer_of(pki().proxy);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ask({{"X-Remote-User", "u"}}, connection).has_value());
  EXPECT_EQ(authenticator_.metrics().certificate_verifications_total.value(), 1u);
  EXPECT_EQ(authenticator_.metrics().certificate_cache_hits_total.value(), 4u);
  clock_.advance(std::chrono::seconds(11));
  EXPECT_TRUE(ask({{"X-Remote-User", "u"}}, connection).has_value());
  EXPECT_EQ(authenticator_.metrics().certificate_verifications_total.value(), 2u);
}

TEST_F(AuthenticatorTest, ATtlOfZeroMeansNoCache) {
  DelegatedAuthenticator::Options options;
  options.certificate_ttl = options.token_ttl = std::chrono::milliseconds(0);
  DelegatedAuthenticator fresh(trust_, &kubernetes_, clock_, options);
  auto request = std::make_shared<net::ServerRequest>();
  request->headers = {{"X-Remote-User", "u"}};
  request->peer = peer_of(pki().proxy);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(run_to_end(fresh.authenticate(request)).has_value());
  EXPECT_EQ(fresh.metrics().certificate_verifications_total.value(), 2u);
}

TEST_F(AuthenticatorTest, TokensAreReviewedOncePerTtl) {
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask({{"Authorization", "bearer good-token"}})->name, "alice");
  EXPECT_EQ(kubernetes_.token_reviews.size(), 1u);
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(ask({{"Authorization", "Bearer bad-token"}}).has_value());
  EXPECT_EQ(kubernetes_.token_reviews.size(), 2u);
  clock_.advance(std::chrono::seconds(11));
  EXPECT_TRUE(ask({{"Authorization", "Bearer good-token"}}).has_value());
  EXPECT_EQ(kubernetes_.token_reviews.size(), 3u);
}

TEST_F(AuthenticatorTest, AnUnansweredReviewIsNotRemembered) {
  kubernetes_.outage = Error(Code::kUnavailable, "connection refused");
  const auto refused = ask({{"Authorization", "Bearer good-token"}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kUnauthorized);
  EXPECT_EQ(refused.error().message.find("good-token"), std::string::npos);
  kubernetes_.outage.reset();
  EXPECT_TRUE(ask({{"Authorization", "Bearer good-token"}}).has_value());
}

TEST_F(AuthenticatorTest, ABadTokenIsNotAnonymous) {
  EXPECT_EQ(ask({{"Authorization", "Bearer bad-token"}}).error().code, Code::kUnauthorized);
}

TEST_F(AuthenticatorTest, AGoodTokenOutweighsABadCertificate) {
  EXPECT_EQ(ask({{"Authorization", "Bearer good-token"}}, peer_of(pki().stranger))->name, "alice");
}

TEST_F(AuthenticatorTest, OtherSchemesAreNoCredentials) {
  for (const char* value : {"Basic dTpw", "Bearer", "Bearer ", "", "good-token"}) {
    EXPECT_EQ(ask({{"Authorization", value}})->name, "system:anonymous") << value;
  }
}

TEST_F(AuthenticatorTest, WithoutTrustNobodyIsAnybody) {
  trust_.publish(no_authentication_trust());
  EXPECT_FALSE(trust_.get()->loaded);
  EXPECT_EQ(ask({{"X-Remote-User", "admin"}}, peer_of(pki().proxy))->name, "system:anonymous");
  DelegatedAuthenticator::Options options;
  options.anonymous = false;
  DelegatedAuthenticator strict(trust_, nullptr, clock_, options);
  auto request = std::make_shared<net::ServerRequest>();
  EXPECT_FALSE(run_to_end(strict.authenticate(request)).has_value());
  request->headers.emplace_back("Authorization", "Bearer good-token");
  EXPECT_FALSE(run_to_end(strict.authenticate(request)).has_value());
}

TEST(AuthenticationTrust, ABundleThatIsNoneIsNamed) {
  kube::AuthenticationConfig config = cluster_config();
  config.requestheader_ca_pem = "garbage";
  EXPECT_THAT(make_authentication_trust(config).error().message,
              HasSubstr("requestheader-client-ca-file"));
  config = cluster_config();
  config.client_ca_pem = "garbage";
  EXPECT_THAT(make_authentication_trust(config).error().message, HasSubstr("client-ca-file"));
}

}  // namespace
}  // namespace loadline::apiserver
