#include "net/certificate.h"

#include "base/file.h"

#include <gtest/gtest.h>

#include <string>

namespace loadline::net {
namespace {

std::string pem(const std::string& name) {
  const auto text =
      read_file(std::string(LOADLINE_SOURCE_DIR) + "/tests/testdata/net/" + name + ".pem");
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : "";
}

Result<CertificateSubject> verify(const std::string& ca_pem, const std::string& chain_pem) {
  const auto verifier = ClientCertificateVerifier::create(ca_pem);
  if (!verifier) return verifier.error();
  const auto peer = peer_certificate_from_pem(chain_pem);
  if (!peer) return peer.error();
  return (*verifier)->verify(**peer);
}

TEST(ClientCertificateVerifier, TellsWhoTheClientIs) {
  const auto subject = verify(pem("root"), pem("client") + pem("intermediate"));
  ASSERT_TRUE(subject) << subject.error().message;
  EXPECT_EQ(subject->common_name, "front-proxy-client");
  EXPECT_EQ(subject->organizations, (std::vector<std::string>{"team-a", "team-b"}));
  EXPECT_EQ(subject->sha256_hex.size(), 64U);
  EXPECT_EQ(subject->sha256_hex.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(ClientCertificateVerifier, AcceptsAndRefusesByChainTimeAndUsage) {
  const auto ca = make_self_signed("ca", {});
  const auto other = make_self_signed("ca", {});  // the same name, another key
  ASSERT_TRUE(ca && other);
  const auto good = make_signed(*ca, "c", {}, {});
  const auto expired = make_signed(*ca, "c", {}, {}, -1);
  ASSERT_TRUE(good && expired);
  const auto f = [](int line, const std::string& ca_pem, const std::string& chain,
                    const std::string& want) {
    const auto subject = verify(ca_pem, chain);
    if (want.empty()) {
      EXPECT_TRUE(subject) << "line " << line << ": " << subject.error().message;
      return;
    }
    ASSERT_FALSE(subject) << "line " << line;
    EXPECT_EQ(subject.error().code, Code::kUnauthorized) << "line " << line;
    EXPECT_NE(subject.error().message.find(want), std::string::npos)
        << "line " << line << ": " << subject.error().message;
  };
  f(__LINE__, ca->certificate_pem, good->certificate_pem, "");
  f(__LINE__, other->certificate_pem + ca->certificate_pem, good->certificate_pem, "");
  f(__LINE__, ca->certificate_pem, ca->certificate_pem, "");
  f(__LINE__, other->certificate_pem, good->certificate_pem, "local issuer");
  f(__LINE__, pem("root"), good->certificate_pem, "local issuer");
  f(__LINE__, ca->certificate_pem, expired->certificate_pem, "expired");
  f(__LINE__, pem("root"), pem("client"), "local issuer");
  f(__LINE__, pem("intermediate"), pem("client"), "");
  f(__LINE__, pem("root"), pem("client") + good->certificate_pem + pem("intermediate"), "");
  f(__LINE__, pem("root"), pem("no_usage"), "");
  f(__LINE__, pem("root"), pem("server_only"), "purpose");
  // What the client presents is never trusted because it is presented.
  f(__LINE__, pem("root"), good->certificate_pem + ca->certificate_pem, "certificate");
  // A leaf is no authority.
  const auto below_leaf = make_signed(*good, "c", {}, {});
  ASSERT_TRUE(below_leaf);
  f(__LINE__, ca->certificate_pem, below_leaf->certificate_pem + good->certificate_pem, "CA");
}

TEST(ClientCertificateVerifier, UnusableBundlesAreErrors) {
  const std::string root = pem("root");
  std::string broken = root;
  broken[60] = broken[60] == 'A' ? 'B' : 'A';
  broken.erase(100, 40);
  EXPECT_FALSE(ClientCertificateVerifier::create(""));
  EXPECT_FALSE(ClientCertificateVerifier::create("garbage"));
  EXPECT_FALSE(ClientCertificateVerifier::create(root + broken));
  EXPECT_TRUE(ClientCertificateVerifier::create("# comment\n" + root + root)) << "twice is no harm";
  EXPECT_FALSE(peer_certificate_from_pem(""));
}

TEST(KeyPair, CommasInNamesStayInTheirName) {
  const auto ca = make_self_signed("ca", {"a,DNS:evil.test", "::1"});
  ASSERT_TRUE(ca);
  const auto pair = make_signed(*ca, "a,O=system:masters", {"o,CN=x"}, {});
  ASSERT_TRUE(pair);
  const auto subject = verify(ca->certificate_pem, pair->certificate_pem);
  ASSERT_TRUE(subject) << subject.error().message;
  EXPECT_EQ(subject->common_name, "a,O=system:masters");
  EXPECT_EQ(subject->organizations, std::vector<std::string>{"o,CN=x"});
  EXPECT_FALSE(make_signed(KeyPair{}, "c", {}, {}));
}

}  // namespace
}  // namespace loadline::net
