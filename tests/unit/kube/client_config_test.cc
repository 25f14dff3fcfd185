#include "kube/client_config.h"

#include "kube/base64.h"
#include "kube/yaml_tree.h"
#include "tests/unit/kube/temp_folder.h"

#include <gtest/gtest.h>

#include <string>

namespace loadline::kube {
namespace {

const std::string kCertificate = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n";
const std::string kKey = "-----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY-----\n";
// The same two in base64.
const std::string kCertificateData =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==";
const std::string kKeyData =
    "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk1JSQotLS0tLUVORCBFQyBQUklWQVRFIEtFWS0tLS0tCg==";

// A kubeconfig whose cluster and user have these fields (YAML flow maps without braces).
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts:\n- name: elsewhere\n  context: {cluster: none, user: none}\n"
         "- name: here\n  context: {cluster: c, user: u, namespace: models}\n"
         "clusters:\n- name: c\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: u\n  user: {" +
         user + "}\n";
}

class Kubeconfig : public testing::Test {
 protected:
  Result<ClientConfig> load(const std::string& text) {
    return load_kubeconfig(folder_.write("config", text));
  }

  // The error names the file, the field and something of the cure.
  void refused(const std::string& text, const std::string& field, const std::string& words,
               int line) {
    const auto config = load(text);
    ASSERT_FALSE(config) << "line " << line;
    for (const std::string& part : {folder_.file("config"), field, words}) {
      EXPECT_NE(config.error().message.find(part), std::string::npos)
          << "line " << line << ": no \"" << part << "\" in: " << config.error().message;
    }
  }

  TempFolder folder_;
};

TEST_F(Kubeconfig, ReadsTheCurrentContext) {
  const auto config =
      load(kubeconfig("server: \"https://api.example.com:6443/k8s/clusters/c-1/\", "
                      "certificate-authority-data: " +
                          kCertificateData + ", tls-server-name: other",
                      "client-certificate-data: " + kCertificateData +
                          ", client-key-data: " + kKeyData + ", token: abc"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "api.example.com");
  EXPECT_EQ(config->port, 6443);
  EXPECT_TRUE(config->tls);
  EXPECT_EQ(config->path_prefix, "/k8s/clusters/c-1");
  EXPECT_EQ(config->server_name, "other");
  EXPECT_EQ(config->ca_pem, kCertificate);
  EXPECT_EQ(config->certificate_pem, kCertificate);
  EXPECT_EQ(config->key_pem, kKey);
  EXPECT_EQ(config->token, "abc");
  EXPECT_EQ(config->token_file, "");
  EXPECT_EQ(config->namespace_name, "models");
  EXPECT_FALSE(config->insecure_skip_verify);
}

TEST_F(Kubeconfig, MayBeJson) {
  const auto config =
      load(R"({"current-context":"x","contexts":[{"name":"x","context":{"cluster":"y","user":"z"}}],
    "clusters":[{"name":"y","cluster":{"server":"https://h","insecure-skip-tls-verify":true}}],
    "users":[{"name":"z","user":{"token":"t"}}]})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "h");
  EXPECT_EQ(config->port, 443);
  EXPECT_TRUE(config->insecure_skip_verify);
  EXPECT_EQ(config->token, "t");
}

TEST_F(Kubeconfig, TakesIPv6AndPlainHttp) {
  const auto six = load(kubeconfig("server: \"https://[fd00::1]:6443\"", ""));
  ASSERT_TRUE(six) << six.error().message;
  EXPECT_EQ(six->host, "fd00::1");
  EXPECT_EQ(six->port, 6443);
  const auto plain = load(kubeconfig("server: \"http://127.0.0.1:8001\"", "token: t"));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->port, 8001);
  EXPECT_EQ(plain->path_prefix, "");
  EXPECT_EQ(load(kubeconfig("server: \"http://h\"", ""))->port, 80);
}

TEST_F(Kubeconfig, RelativePathsCountFromItsFolder) {
  folder_.write("pki/ca.crt", kCertificate);
  folder_.write("pki/u.crt", kCertificate);
  folder_.write("pki/u.key", kKey);
  folder_.write("token", "abc\n");
  const auto config =
      load(kubeconfig("server: \"https://h\", certificate-authority: pki/ca.crt",
                      "client-certificate: pki/u.crt, client-key: " + folder_.file("pki/u.key") +
                          ", tokenFile: token"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ca_pem, kCertificate);
  EXPECT_EQ(config->certificate_pem, kCertificate);
  EXPECT_EQ(config->key_pem, kKey);
  EXPECT_EQ(config->token_file, folder_.file("token"));
}

TEST_F(Kubeconfig, DataWinsOverAFile) {
  const auto config =
      load(kubeconfig("server: \"https://h\", certificate-authority: /nowhere, "
                      "certificate-authority-data: " +
                          kCertificateData,
                      ""));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ca_pem, kCertificate);
}

TEST_F(Kubeconfig, AContextMayHaveNoUser) {
  const auto config = load(
      "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
      "clusters: [{name: c, cluster: {server: \"https://h\"}}]\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->token, "");
}

TEST_F(Kubeconfig, NamesThatLookLikeNumbersAreText) {
  const auto config = load(
      "current-context: 1.10\ncontexts: [{name: 1.1, context: {}}, {name: 1.10, context: "
      "{cluster: 007, user: 1e3}}]\nclusters: [{name: 007, cluster: {server: \"https://h\"}}]\n"
      "users: [{name: 1e3, user: {token: 12345}}]");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->token, "12345");
}

TEST_F(Kubeconfig, AnchorsStandForWhatTheyName) {
  const auto config = load(
      "current-context: a\ncontexts: [{name: a, context: {cluster: &x c, user: *x}}]\n"
      "clusters: [{name: *x, cluster: {server: \"https://h\"}}]\n"
      "users: [{name: *x, user: {token: t}}]\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->token, "t");
}

TEST_F(Kubeconfig, AMissingFileIsNamed) {
  const auto config = load_kubeconfig(folder_.file("none"));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Code::kNotFound);
  EXPECT_NE(config.error().message.find(folder_.file("none")), std::string::npos);
}

TEST_F(Kubeconfig, ABrokenFileIsRefusedByLine) {
  refused("", "no kubeconfig", "clusters", __LINE__);
  refused("- a\n", "no kubeconfig", "clusters", __LINE__);
  refused("just words", "no kubeconfig", "clusters", __LINE__);
  refused("a: [1, 2\n", "no kubeconfig", "line", __LINE__);
  refused("a: 1\na: 2\n", "line 2", "twice", __LINE__);
  refused("a: &x [*x]\n", "line 1", "alias", __LINE__);
  refused("[a]: 1\n", "line 1", "key", __LINE__);
  refused("a: *b\n", "no kubeconfig", "line 1", __LINE__);
  refused("a: " + std::string(200, '[') + std::string(200, ']'), "line 1", "deeper", __LINE__);
  refused("a: " + std::string(1'000'000, '['), "no kubeconfig", "brackets", __LINE__);
}

TEST_F(Kubeconfig, ABillionLaughsStaySmall) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    std::string list = before;
    for (int j = 0; j < 8; ++j) list += "," + before;
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  refused(text, "current-context", "is not set", __LINE__);
  std::string many;
  for (int i = 0; i < 60'000; ++i) many += "- x\n";
  refused(many, "no kubeconfig", "more than", __LINE__);
  refused(std::string(5u << 20, '#'), "config", "larger than", __LINE__);
}

TEST_F(Kubeconfig, ABrokenReferenceIsNamed) {
  const std::string cluster = "clusters: [{name: c, cluster: {server: \"https://h\"}}]\n";
  refused(cluster, "current-context", "kubectl config use-context", __LINE__);
  refused("current-context: a\n" + cluster, "contexts", "must be a list", __LINE__);
  refused("current-context: a\ncontexts: {}\n" + cluster, "contexts", "must be a list", __LINE__);
  refused("current-context: [a]\n", "current-context", "plain text", __LINE__);
  refused("current-context: a\ncontexts: [{name: b, context: {}}]\n", "contexts", "\"a\"",
          __LINE__);
  refused("current-context: a\ncontexts: [1, {name: a}]\n", "contexts[a].context", "missing",
          __LINE__);
  refused("current-context: a\ncontexts: [{name: a, context: {}}, {name: a, context: {}}]\n",
          "contexts", "twice", __LINE__);
  refused("current-context: a\ncontexts: [{name: a, context: {user: u}}]\n" + cluster,
          "contexts[a].context.cluster", "missing", __LINE__);
  refused("current-context: a\ncontexts: [{name: a, context: {cluster: d}}]\n" + cluster,
          "clusters", "\"d\"", __LINE__);
  refused("current-context: a\ncontexts: [{name: a, context: {cluster: c, user: v}}]\n" + cluster,
          "users", "must be a list", __LINE__);
}

TEST_F(Kubeconfig, ABrokenClusterIsNamed) {
  const auto f = [&](const std::string& cluster, const std::string& field, const std::string& words,
                     int line) {
    refused(kubeconfig(cluster, ""), "clusters[c].cluster." + field, words, line);
  };
  f("a: b", "server", "https://HOST:6443", __LINE__);
  f("server: h:6443x", "server", "https://HOST:6443", __LINE__);
  f("server: [1]", "server", "plain text", __LINE__);
  f("server: \"ftp://h\"", "server", "neither", __LINE__);
  f("server: \"https://u:p@h\"", "server", "user or password", __LINE__);
  f("server: \"https://h?x\"", "server", "query", __LINE__);
  f("server: \"https://h:0\"", "server", "port", __LINE__);
  f("server: \"https://h:6443x\"", "server", "port", __LINE__);
  f("server: \"https://h:99999\"", "server", "port", __LINE__);
  f("server: \"https://\"", "server", "host", __LINE__);
  f("server: \"https://h a\"", "server", "no URL", __LINE__);
  f("server: \"https://h\", proxy-url: \"http://p\"", "proxy-url", "not supported", __LINE__);
  f("server: \"https://h\", insecure-skip-tls-verify: maybe", "insecure-skip-tls-verify",
    "true or false", __LINE__);
  f("server: \"https://h\", certificate-authority-data: \"%\"", "certificate-authority-data",
    "base64", __LINE__);
  f("server: \"https://h\", certificate-authority-data: YWJj", "certificate-authority-data", "PEM",
    __LINE__);
  f("server: \"https://h\", certificate-authority: nowhere.crt", "certificate-authority",
    "correct the path", __LINE__);
  f("server: \"https://h\", certificate-authority: config", "certificate-authority", "PEM",
    __LINE__);
  f("server: \"https://h\", insecure-skip-tls-verify: true, certificate-authority-data: " +
        kCertificateData,
    "insecure-skip-tls-verify", "remove one", __LINE__);
}

TEST_F(Kubeconfig, ABrokenUserIsNamed) {
  const auto f = [&](const std::string& user, const std::string& field, const std::string& words,
                     int line) {
    refused(kubeconfig("server: \"https://h\"", user), "users[u].user." + field, words, line);
  };
  f("exec: {command: aws}", "exec", "kubectl create token", __LINE__);
  f("auth-provider: {name: gcp}", "auth-provider", "kubectl create token", __LINE__);
  f("username: a, password: b", "username", "kubectl create token", __LINE__);
  f("token: t, as: admin", "as", "impersonation", __LINE__);
  f("token: \"a b\"", "token", "copy it again", __LINE__);
  f("token: {}", "token", "plain text", __LINE__);
  f("tokenFile: nowhere", "tokenFile", "correct the path", __LINE__);
  f("client-certificate-data: " + kCertificateData, "client-key", "both or none", __LINE__);
  f("client-key-data: " + kKeyData, "client-certificate", "both or none", __LINE__);
  f("client-certificate-data: " + kKeyData + ", client-key-data: " + kKeyData,
    "client-certificate-data", "PEM", __LINE__);
  f("client-certificate: nowhere, client-key-data: " + kKeyData, "client-certificate",
    "correct the path", __LINE__);
  folder_.write("empty", " \n");
  f("tokenFile: empty", "tokenFile", "empty", __LINE__);
}

TEST_F(Kubeconfig, ATokenIsNotSentInTheClear) {
  refused(kubeconfig("server: \"http://api.example.com\"", "token: t"),
          "clusters[c].cluster.server", "use https", __LINE__);
}

TEST(InCluster, ReadsTheServiceAccountFolder) {
  const TempFolder folder;
  folder.write("token", "abc");
  folder.write("ca.crt", kCertificate);
  folder.write("namespace", "models");
  const auto config = in_cluster_config("fd00::1", "443", folder.path());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "fd00::1");
  EXPECT_EQ(config->port, 443);
  EXPECT_TRUE(config->tls);
  EXPECT_EQ(config->token_file, folder.file("token"));
  EXPECT_EQ(config->ca_pem, kCertificate);
  EXPECT_EQ(config->namespace_name, "models");
  EXPECT_EQ(in_cluster_config("[fd00::1]", "443", folder.path())->host, "fd00::1");
}

TEST(InCluster, OutsideOfOneItSaysWhatToGive) {
  const TempFolder folder;
  const auto f = [&](const std::string& host, const std::string& port, const std::string& words) {
    const auto config = in_cluster_config(host, port, folder.path());
    ASSERT_FALSE(config);
    for (const std::string& part : {std::string("not running in a cluster"), words,
                                    std::string("give --kubeconfig FILE or --pods FILE")}) {
      EXPECT_NE(config.error().message.find(part), std::string::npos) << config.error().message;
    }
  };
  f("", "443", "KUBERNETES_SERVICE_HOST");
  for (const char* port : {"", "0", "65536", "-1", "x", "443x"})
    f("10.0.0.1", port, "KUBERNETES_SERVICE_PORT");
  f("10.0.0.1", "443", "/token");
  folder.write("token", "abc");
  f("10.0.0.1", "443", "/ca.crt");
  folder.write("ca.crt", "nothing");
  f("10.0.0.1", "443", "PEM");
}

TEST(Base64, DecodesTheStandardAlphabetOnly) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("YQ=="), "a");
  EXPECT_EQ(decode_base64("YWI="), "ab");
  EXPECT_EQ(decode_base64("YWJj"), "abc");
  EXPECT_EQ(decode_base64("YW\nJj\r\nZA=="), "abcd");
  EXPECT_EQ(decode_base64("+/+/"), std::string("\xfb\xff\xbf", 3));
  for (const char* bad :
       {"Y", "YQ", "YQ=", "YQ===", "Y===", "====", "YQ==YQ==", "Y=Q=", "-_-_", "YWJj!"}) {
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace loadline::kube
