#include "kube/client_config.h"

#include "base/file.h"
#include "kube/base64.h"
#include "kube/bearer_token.h"
#include "kube/yaml_tree.h"

#include <boost/asio/ip/address.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace loadline::kube {
namespace {

constexpr std::size_t kMostBytes = 2u << 20;
constexpr std::string_view kCertificateMark = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kKeyMark = "PRIVATE KEY-----";

// A map in the kubeconfig, with what an error about its fields has to name.
class Section {
 public:
  Section(const std::string& file, std::string name, const YamlNode* node)
      : file_(file), name_(std::move(name)), node_(node) {}

  Error error(std::string_view field, std::string_view problem) const {
    return Error(Code::kBadRequest, fmt::format("{}: {}{}{}: {}", file_, name_,
                                                name_.empty() ? "" : ".", field, problem));
  }

  bool has(std::string_view field) const {
    return node_ != nullptr && node_->find(field) != nullptr;
  }

  // "" where the field is missing.
  Result<std::string> text(std::string_view field) const {
    if (!has(field)) return std::string();
    const YamlNode& node = *node_->find(field);
    if (node.kind != YamlNode::Kind::kScalar) return error(field, "must be plain text");
    return node.scalar;
  }

  Result<bool> flag(std::string_view field) const {
    auto value = text(field);
    if (!value) return std::move(value).error();
    if (*value == "true") return true;
    if (value->empty() || *value == "false") return false;
    return error(field, "must be true or false");
  }

  // The map `inner` of the entry called `name` in the list `field`.
  Result<Section> entry(std::string_view field, std::string_view name,
                        std::string_view inner) const {
    const YamlNode* list = node_->find(field);
    if (list == nullptr || list->kind != YamlNode::Kind::kSequence) {
      return error(field, "must be a list; is this a kubeconfig file?");
    }
    const YamlNode* found = nullptr;
    for (const YamlNodePtr& item : list->items) {
      const YamlNode* item_name = item->find("name");
      if (item_name == nullptr || item_name->scalar != name) continue;
      if (found != nullptr)
        return error(field, fmt::format("\"{}\" is there twice; remove one", name));
      found = item.get();
    }
    if (found == nullptr) {
      return error(field,
                   fmt::format("there is no entry named \"{}\"; add it or name another", name));
    }
    const YamlNode* map = found->find(inner);
    std::string full_name = fmt::format("{}[{}].{}", field, name, inner);
    if (map == nullptr || map->kind != YamlNode::Kind::kMap) {
      return Error(Code::kBadRequest,
                   fmt::format("{}: {}: is missing or no map", file_, full_name));
    }
    return Section(file_, std::move(full_name), map);
  }

  // Relative paths count from the folder of the kubeconfig.
  std::string resolve(const std::string& path) const {
    return (std::filesystem::path(file_).parent_path() / path).string();
  }

  // Text in PEM, from FIELD-data (base64) or else from the file that FIELD names; "" where neither
  // is there.
  Result<std::string> pem(const std::string& field, std::string_view mark) const {
    const std::string data_field = field + "-data";
    auto data = text(data_field);
    if (!data) return std::move(data).error();
    std::string named = data_field;
    std::string bytes;
    if (!data->empty()) {
      auto decoded = decode_base64(*data);
      if (!decoded) return error(data_field, "is not base64; copy it again");
      bytes = std::move(*decoded);
    } else {
      auto path = text(field);
      if (!path) return std::move(path).error();
      if (path->empty()) return std::string();
      auto read = read_file(resolve(*path), kMostBytes);
      if (!read) return file_error(field, std::move(read).error(), data_field);
      bytes = std::move(*read);
      named = field;
    }
    if (bytes.find(mark) == std::string::npos) {
      return error(named, fmt::format("is not PEM: it has no line with \"{}\"", mark));
    }
    return bytes;
  }

  Error file_error(std::string_view field, const Error& cause, std::string_view instead) const {
    Error full =
        error(field, fmt::format("{}; correct the path or use {}", cause.message, instead));
    full.code = cause.code;
    return full;
  }

 private:
  std::string file_, name_;
  const YamlNode* node_;  // part of the tree that load_kubeconfig holds
};

Status refuse(const Section& section, std::string_view field, std::string_view why) {
  if (section.has(field)) return section.error(field, why);
  return {};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

Status read_server(const Section& cluster, ClientConfig& config) {
  auto server = cluster.text("server");
  if (!server) return std::move(server).error();
  const auto wrong = [&](std::string_view why) {
    return cluster.error("server", fmt::format("{}; give a URL like https://HOST:6443", why));
  };
  if (server->empty()) return wrong("is missing");
  const auto url = boost::urls::parse_uri(*server);
  if (!url) return wrong(fmt::format("\"{}\" is no URL", *server));
  if (url->scheme() != "https" && url->scheme() != "http")
    return wrong("is neither https nor http");
  if (url->has_userinfo()) return wrong("must not hold a user or password");
  if (url->has_query() || url->has_fragment()) return wrong("must not have a query or fragment");
  config.tls = url->scheme() == "https";
  config.host = url->host_address();
  if (config.host.empty()) return wrong("has no host");
  config.port = config.tls ? 443 : 80;
  if (url->has_port()) {
    const std::string digits = url->port();
    const auto port = parse_port(digits);
    if (!port) return wrong("has no valid port");
    config.port = *port;
  }
  const std::string_view path = url->encoded_path();
  // Boost.URL 1.81 takes "https://h:443x" for the path x.
  if (!path.empty() && path.front() != '/') return wrong("has no valid port");
  config.path_prefix = path.substr(0, path.find_last_not_of('/') + 1);
  return {};
}

Status read_cluster(const Section& cluster, ClientConfig& config) {
  if (auto status = read_server(cluster, config); !status) return status;
  if (auto status =
          refuse(cluster, "proxy-url", "proxies are not supported; reach the API server directly");
      !status) {
    return status;
  }
  auto insecure = cluster.flag("insecure-skip-tls-verify");
  if (!insecure) return std::move(insecure).error();
  auto name = cluster.text("tls-server-name");
  if (!name) return std::move(name).error();
  auto ca = cluster.pem("certificate-authority", kCertificateMark);
  if (!ca) return std::move(ca).error();
  if (*insecure && !ca->empty()) {
    return cluster.error(
        "insecure-skip-tls-verify",
        "contradicts the certificate-authority that is given too; remove one of them");
  }
  config.insecure_skip_verify = *insecure;
  config.server_name = std::move(*name);
  config.ca_pem = std::move(*ca);
  return {};
}

Status refuse_unsupported(const Section& user) {
  static constexpr std::string_view kCure =
      "use a token (\"kubectl create token NAME\"), a tokenFile or a client certificate instead";
  struct Refused {
    std::string_view field, why;
  };
  static constexpr std::array<Refused, 8> kRefused{{
      {"exec", "no programs are run for credentials"},
      {"auth-provider", "auth providers are gone from Kubernetes since 1.26"},
      {"username", "passwords are gone from Kubernetes since 1.19"},
      {"password", "passwords are gone from Kubernetes since 1.19"},
      {"as", "impersonation is not supported"},
      {"as-uid", "impersonation is not supported"},
      {"as-groups", "impersonation is not supported"},
      {"as-user-extra", "impersonation is not supported"},
  }};
  for (const auto& [field, why] : kRefused) {
    auto status = refuse(user, field, fmt::format("{}; {}", why, kCure));
    if (!status) return status;
  }
  return {};
}

Status read_token(const Section& user, ClientConfig& config) {
  auto token = user.text("token");
  if (!token) return std::move(token).error();
  auto file = user.text("tokenFile");
  if (!file) return std::move(file).error();
  if (!file->empty()) {
    config.token_file = user.resolve(*file);
    const auto read = read_token_file(config.token_file);
    if (!read) return user.file_error("tokenFile", read.error(), "token");
  } else if (!token->empty()) {
    if (!is_token(*token))
      return user.error("token", "has blanks or bytes that are not ASCII; copy it again");
    config.token = std::move(*token);
  }
  return {};
}

Status read_user(const Section& user, ClientConfig& config) {
  if (auto status = refuse_unsupported(user); !status) return status;
  auto certificate = user.pem("client-certificate", kCertificateMark);
  if (!certificate) return std::move(certificate).error();
  auto key = user.pem("client-key", kKeyMark);
  if (!key) return std::move(key).error();
  if (!certificate->empty() && key->empty()) {
    return user.error("client-key",
                      "is missing, but client-certificate is there; give both or none");
  }
  if (certificate->empty() && !key->empty()) {
    return user.error("client-certificate",
                      "is missing, but client-key is there; give both or none");
  }
  config.certificate_pem = std::move(*certificate);
  config.key_pem = std::move(*key);
  return read_token(user, config);
}

bool is_loopback(const std::string& host) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  return host == "localhost" || (!error && address.is_loopback());
}

}  // namespace

Result<ClientConfig> load_kubeconfig(const std::string& path) {
  auto text = read_file(path, kMostBytes);
  if (!text) return with_context("kubeconfig", std::move(text).error());
  const auto tree = parse_yaml(*text);
  if (!tree) return with_context(path + " is no kubeconfig", tree.error());
  const Section root(path, "", tree->get());
  if ((*tree)->kind != YamlNode::Kind::kMap) {
    return Error(Code::kBadRequest,
                 path + " is no kubeconfig: it is not a map with clusters, users, contexts");
  }

  auto current = root.text("current-context");
  if (!current) return std::move(current).error();
  if (current->empty()) {
    return root.error("current-context",
                      "is not set; choose one with \"kubectl config use-context NAME\"");
  }
  const auto context = root.entry("contexts", *current, "context");
  if (!context) return context.error();
  auto cluster_name = context->text("cluster");
  if (!cluster_name) return std::move(cluster_name).error();
  if (cluster_name->empty()) return context->error("cluster", "is missing; name one of clusters");
  auto user_name = context->text("user");
  if (!user_name) return std::move(user_name).error();
  auto namespace_name = context->text("namespace");
  if (!namespace_name) return std::move(namespace_name).error();

  ClientConfig config;
  config.namespace_name = std::move(*namespace_name);
  const auto cluster = root.entry("clusters", *cluster_name, "cluster");
  if (!cluster) return cluster.error();
  if (auto status = read_cluster(*cluster, config); !status) return std::move(status).error();
  if (user_name->empty()) return config;  // anonymous
  const auto user = root.entry("users", *user_name, "user");
  if (!user) return user.error();
  if (auto status = read_user(*user, config); !status) return std::move(status).error();
  if (!config.tls && !is_loopback(config.host) &&
      !(config.token.empty() && config.token_file.empty())) {
    return cluster->error(
        "server", "is http, so the user's token would go over the network in the clear; use https");
  }
  return config;
}

Result<ClientConfig> in_cluster_config(const std::string& host, const std::string& port,
                                       const std::string& folder) {
  static constexpr std::string_view kCure = "give --kubeconfig FILE or --pods FILE";
  const auto outside = [](std::string_view problem) {
    return Error(Code::kBadRequest,
                 fmt::format("not running in a cluster: {}; {}", problem, kCure));
  };
  if (host.empty()) return outside("KUBERNETES_SERVICE_HOST is not set");
  const auto number = parse_port(port);
  if (!number) return outside(fmt::format("KUBERNETES_SERVICE_PORT is no port: \"{}\"", port));

  ClientConfig config;
  config.host = host.size() > 2 && host.front() == '[' && host.back() == ']'
                    ? host.substr(1, host.size() - 2)
                    : host;
  config.port = *number;
  config.token_file = folder + "/token";
  if (const auto token = read_token_file(config.token_file); !token) {
    return outside(fmt::format("{} (does the pod set automountServiceAccountToken: false?)",
                               token.error().message));
  }
  auto ca = read_file(folder + "/ca.crt", kMostBytes);
  if (!ca) return outside(ca.error().message);
  if (ca->find(kCertificateMark) == std::string::npos)
    return outside(folder + "/ca.crt is not PEM");
  config.ca_pem = std::move(*ca);
  // Only a default for namespaced wishes: an older cluster may not have it.
  if (auto own = read_file(folder + "/namespace", 1024)) config.namespace_name = std::move(*own);
  return config;
}

}  // namespace loadline::kube
