// Whom an aggregated API server trusts: the ConfigMap
// kube-system/extension-apiserver-authentication, or flags. Immutable value. Source: apiserver
// pkg/server/options/authentication.go, wire-level facts in docs/architecture.md.
#pragma once

#include "base/result.h"
#include "kube/transport.h"

#include <memory>
#include <string>
#include <vector>

namespace loadline::kube {

struct AuthenticationConfig {
  std::string client_ca_pem;               // empty: no client-certificate users
  std::string requestheader_ca_pem;        // empty: no front proxy is trusted
  std::vector<std::string> allowed_names;  // empty: any common name
  std::vector<std::string> username_headers, uid_headers, group_headers, extra_header_prefixes;

  bool operator==(const AuthenticationConfig&) const = default;
};

// From the ConfigMap's JSON (an object with "data"). Any key may be missing (a cluster without
// client certificates has no client-ca-file: field case B22); a list that is no JSON array of
// strings is kBadRequest, naming the key.
Result<AuthenticationConfig> parse_authentication_config_map(std::string_view json);

boost::asio::awaitable<Result<AuthenticationConfig>> fetch_authentication_config(
    Transport& transport);

}  // namespace loadline::kube
