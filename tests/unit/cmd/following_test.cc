#include "cmd/following.h"

#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace loadline::cmd {
namespace {

using testing::HasSubstr;

struct FollowingTest : testing::Test {
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = testing::TempDir() + "following-" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() + name;
    EXPECT_TRUE(write_file(path, bytes));
    return path;
  }
  net::KeyPair first = *net::make_self_signed("one", {"localhost"});
  net::KeyPair second = *net::make_self_signed("two", {"localhost"});
};

TEST_F(FollowingTest, ANewCertificateIsTakenAndABrokenPairLeavesTheLast) {
  ServeOptions options;
  options.tls_cert_file = write("crt", first.certificate_pem);
  options.tls_private_key_file = write("key", first.key_pem);
  auto serving = ServingCertificate::create(options, {});
  ASSERT_TRUE(serving.has_value()) << serving.error().message;
  const auto before = (*serving)->current();
  ASSERT_TRUE((*serving)->load().has_value());
  EXPECT_EQ((*serving)->current(), before) << "nothing changed";

  write("crt", second.certificate_pem);  // its key comes later
  const Status halfway = (*serving)->load();
  ASSERT_FALSE(halfway.has_value());
  EXPECT_THAT(halfway.error().message, HasSubstr(options.tls_cert_file));
  EXPECT_EQ((*serving)->current(), before);
  EXPECT_TRUE((*serving)->load().has_value()) << "told once";

  write("key", second.key_pem);
  ASSERT_TRUE((*serving)->load().has_value());
  EXPECT_NE((*serving)->current(), before);
  EXPECT_EQ((*serving)->reloads_total.value(), 2u);
}

TEST_F(FollowingTest, WithoutFilesThereIsASelfSignedCertificate) {
  auto serving = ServingCertificate::create(ServeOptions(), {"localhost"});
  ASSERT_TRUE(serving.has_value()) << serving.error().message;
  EXPECT_NE((*serving)->current(), nullptr);
  EXPECT_THAT((*serving)->self_signed_pem(), HasSubstr("BEGIN CERTIFICATE"));
}

TEST_F(FollowingTest, CaFilesAreReadAnewAndABrokenOneLeavesTheLast) {
  ServeOptions options;
  options.client_ca_file = write("ca", first.certificate_pem);
  FollowedTrust trust(nullptr, options);
  EXPECT_FALSE(trust.current().get()->loaded);
  ASSERT_TRUE(trust.load_files().has_value());
  const auto before = trust.current().get();
  EXPECT_TRUE(before->loaded);
  EXPECT_NE(before->client_ca, nullptr);
  EXPECT_EQ(before->front_proxy_ca, nullptr);

  write("ca", "rubbish");
  EXPECT_FALSE(trust.load_files().has_value());
  EXPECT_EQ(trust.current().get(), before);
  write("ca", second.certificate_pem);
  ASSERT_TRUE(trust.load_files().has_value());
  EXPECT_NE(trust.current().get(), before);
}

TEST_F(FollowingTest, AnEmptyOrMissingCaFileIsNamedWithItsFlag) {
  const auto complaint = [](ServeOptions options) {
    const Status loaded = FollowedTrust(nullptr, std::move(options)).load_files();
    return loaded ? std::string("no complaint") : loaded.error().message;
  };
  ServeOptions client, proxy, missing;
  client.client_ca_file = proxy.requestheader_client_ca_file = write("empty", "");
  missing.client_ca_file = "/nowhere/ca.crt";
  EXPECT_THAT(complaint(client), HasSubstr("--client-ca-file"));
  EXPECT_THAT(complaint(proxy), HasSubstr("--requestheader-client-ca-file"));
  EXPECT_THAT(complaint(missing), HasSubstr("/nowhere/ca.crt"));
}

}  // namespace
}  // namespace loadline::cmd
