#include "kube/authentication_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace loadline::kube {

namespace asio = boost::asio;
using Json = nlohmann::json;

namespace {

constexpr const char* kPath =
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
constexpr const char* kNoun = "ConfigMap kube-system/extension-apiserver-authentication";
// A ConfigMap holds at most 1 MiB; as JSON its line breaks take two bytes each.
constexpr std::size_t kMostBytes = 4u << 20;

Error bad(const std::string& problem) {
  return Error(Code::kBadRequest, fmt::format("{}: {}", kNoun, problem));
}

// The key's text, "" where it is missing.
Result<std::string> text(const Json& data, const char* key) {
  const auto it = data.find(key);
  if (it == data.end() || it->is_null()) return std::string();
  if (!it->is_string()) return bad(fmt::format("the key {} is no string", key));
  return it->get<std::string>();
}

// The key's text is JSON itself: an array of strings.
Result<std::vector<std::string>> list(const Json& data, const char* key) {
  auto json = text(data, key);
  if (!json) return std::move(json).error();
  std::vector<std::string> values;
  if (json->empty()) return values;
  const Json array = Json::parse(*json, nullptr, false);
  if (array.is_null()) return values;
  const Error no_list = bad(fmt::format("the key {} is no JSON array of strings", key));
  if (!array.is_array()) return no_list;
  for (const Json& item : array) {
    if (!item.is_string()) return no_list;
    values.push_back(item.get<std::string>());
  }
  return values;
}

}  // namespace

Result<AuthenticationConfig> parse_authentication_config_map(std::string_view json) {
  if (json.size() > kMostBytes) return bad(fmt::format("larger than {} bytes", kMostBytes));
  const Json map = Json::parse(json, nullptr, false);
  if (!map.is_object()) return bad("not a JSON object");
  const Json data = map.value("data", Json());
  if (!data.is_object() && !data.is_null()) return bad("data is no object");

  AuthenticationConfig config;
  for (const auto& [key, member] :
       {std::pair("client-ca-file", &config.client_ca_pem),
        {"requestheader-client-ca-file", &config.requestheader_ca_pem}}) {
    auto value = text(data, key);
    if (!value) return std::move(value).error();
    *member = std::move(*value);
  }
  for (const auto& [key, member] :
       {std::pair("requestheader-allowed-names", &config.allowed_names),
        {"requestheader-username-headers", &config.username_headers},
        {"requestheader-uid-headers", &config.uid_headers},
        {"requestheader-group-headers", &config.group_headers},
        {"requestheader-extra-headers-prefix", &config.extra_header_prefixes}}) {
    auto value = list(data, key);
    if (!value) return std::move(value).error();
    *member = std::move(*value);
  }
  return config;
}

asio::awaitable<Result<AuthenticationConfig>> fetch_authentication_config(Transport& transport) {
  std::string method = "GET";
  std::string path = kPath;
  std::string accept = "application/json";
  std::string body;
  auto response = co_await transport.request(std::move(method), std::move(path), std::move(accept),
                                             std::move(body));
  if (!response) co_return with_context(kNoun, std::move(response).error());
  switch (response->status) {
    case 200:
      co_return parse_authentication_config_map(response->body);
    case 401:
      co_return Error(
          Code::kUnauthorized,
          fmt::format("{}: the Kubernetes API refuses our credentials (401): renew the service "
                      "account token or the kubeconfig",
                      kNoun));
    case 403:
      co_return Error(
          Code::kForbidden,
          fmt::format("{}: our account may not read it (403): bind it in the namespace kube-system "
                      "with a RoleBinding to the Role extension-apiserver-authentication-reader",
                      kNoun));
    case 404:
      co_return Error(Code::kNotFound,
                      fmt::format("{}: it does not exist (404): give --client-ca-file and "
                                  "--requestheader-client-ca-file instead",
                                  kNoun));
    default:
      co_return Error(Code::kUnavailable, fmt::format("{}: HTTP {}", kNoun, response->status));
  }
}

}  // namespace loadline::kube
