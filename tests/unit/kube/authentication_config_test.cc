#include "kube/authentication_config.h"

#include "base/file.h"
#include "tests/unit/kube/scripted_transport.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace loadline::kube {
namespace {

using Strings = std::vector<std::string>;

TEST(AuthenticationConfig, ReadsEveryKey) {
  const auto config = parse_authentication_config_map(R"({"kind":"ConfigMap","data":{
    "client-ca-file":"CA 1\n","requestheader-client-ca-file":"CA 2\n",
    "requestheader-allowed-names":"[\"front-proxy-client\",\"b\"]",
    "requestheader-username-headers":"[\"X-Remote-User\"]","requestheader-uid-headers":"[\"X-Remote-Uid\"]",
    "requestheader-group-headers":"[\"X-Remote-Group\"]",
    "requestheader-extra-headers-prefix":"[\"X-Remote-Extra-\"]"}})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->client_ca_pem, "CA 1\n");
  EXPECT_EQ(config->requestheader_ca_pem, "CA 2\n");
  EXPECT_EQ(config->allowed_names, (Strings{"front-proxy-client", "b"}));
  EXPECT_EQ(config->username_headers, Strings{"X-Remote-User"});
  EXPECT_EQ(config->uid_headers, Strings{"X-Remote-Uid"});
  EXPECT_EQ(config->group_headers, Strings{"X-Remote-Group"});
  EXPECT_EQ(config->extra_header_prefixes, Strings{"X-Remote-Extra-"});
}

TEST(AuthenticationConfig, B22AuthnConfigMapWithoutAClientCaIsWhole) {
  const auto text = read_file(LOADLINE_SOURCE_DIR "/tests/testdata/kube/B22-authn-configmap.json");
  ASSERT_TRUE(text);
  const auto config = parse_authentication_config_map(*text);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->client_ca_pem, "");
  EXPECT_NE(config->requestheader_ca_pem, "");
  EXPECT_EQ(config->allowed_names, Strings{"front-proxy-client"});
  EXPECT_EQ(config->username_headers, Strings{"X-Remote-User"});

  // The key appears later, and is used.
  auto later = nlohmann::json::parse(*text);
  later["data"]["client-ca-file"] = "PEM";
  const auto updated = parse_authentication_config_map(later.dump());
  ASSERT_TRUE(updated);
  EXPECT_EQ(updated->client_ca_pem, "PEM");
  EXPECT_FALSE(*updated == *config);
}

TEST(AuthenticationConfig, TrustsNothingThatTheConfigMapDoesNotList) {
  for (const char* text :
       {"{}", R"({"data":null})", R"({"data":{}})",
        R"({"data":{"requestheader-uid-headers":"","requestheader-username-headers":"[]",
                                       "requestheader-group-headers":"null","client-ca-file":null}})"}) {
    const auto config = parse_authentication_config_map(text);
    ASSERT_TRUE(config) << text;
    EXPECT_TRUE(*config == AuthenticationConfig()) << text;
  }
}

TEST(AuthenticationConfig, ABrokenKeyIsNamed) {
  const auto f = [](const std::string& text, const std::string& words, int line) {
    const auto config = parse_authentication_config_map(text);
    ASSERT_FALSE(config) << "line " << line;
    EXPECT_EQ(config.error().code, Code::kBadRequest);
    EXPECT_NE(config.error().message.find(words), std::string::npos) << config.error().message;
    EXPECT_NE(config.error().message.find("extension-apiserver-authentication"), std::string::npos);
  };
  f("", "not a JSON object", __LINE__);
  f("[]", "not a JSON object", __LINE__);
  f(R"({"data":[]})", "data", __LINE__);
  f(R"({"data":{"client-ca-file":1}})", "client-ca-file", __LINE__);
  for (const std::string key : {"requestheader-allowed-names", "requestheader-username-headers",
                                "requestheader-uid-headers", "requestheader-group-headers",
                                "requestheader-extra-headers-prefix"}) {
    f(R"({"data":{")" + key + R"(":"front-proxy-client"}})", key, __LINE__);
    f(R"({"data":{")" + key + R"(":"\"a\""}})", key, __LINE__);
    f(R"({"data":{")" + key + R"(":"[1]"}})", key, __LINE__);
    f(R"({"data":{")" + key + R"(":"{}"}})", key, __LINE__);
    f(R"({"data":{")" + key + R"(":["a"]}})", key, __LINE__);
  }
  f(std::string(5u << 20, ' '), "larger", __LINE__);
}

TEST(AuthenticationConfig, IsFetchedByName) {
  ScriptedTransport transport;
  transport.answer(200, R"({"data":{"client-ca-file":"CA"}})");
  const auto config = run_to_end(fetch_authentication_config(transport));
  ASSERT_TRUE(config);
  EXPECT_EQ(config->client_ca_pem, "CA");
  ASSERT_EQ(transport.requests().size(), 1U);
  EXPECT_EQ(transport.requests()[0].method, "GET");
  EXPECT_EQ(transport.requests()[0].path,
            "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  EXPECT_EQ(transport.requests()[0].body, "");
}

TEST(AuthenticationConfig, AFailedFetchNamesTheCure) {
  const auto f = [](int status, Code code, const std::string& words) {
    ScriptedTransport transport;
    transport.answer(status, "{}");
    const auto config = run_to_end(fetch_authentication_config(transport));
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code, code);
    EXPECT_NE(config.error().message.find(words), std::string::npos) << config.error().message;
  };
  f(401, Code::kUnauthorized, "credentials");
  f(403, Code::kForbidden, "extension-apiserver-authentication-reader");
  f(404, Code::kNotFound, "--requestheader-client-ca-file");
  f(500, Code::kUnavailable, "HTTP 500");
}

}  // namespace
}  // namespace loadline::kube
