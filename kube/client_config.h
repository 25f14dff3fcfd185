// How to reach and convince a Kubernetes API server: from a kubeconfig file or from inside a
// cluster. Immutable value.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>

namespace loadline::kube {

struct ClientConfig {
  std::string host;
  std::uint16_t port = 443;
  bool tls = true;
  std::string path_prefix;  // where the server's URL has a path; no trailing slash
  std::string server_name;  // tls-server-name; empty: host
  std::string ca_pem;       // empty: the system's roots
  bool insecure_skip_verify = false;
  std::string certificate_pem, key_pem;  // client certificate, both or none
  std::string token;                     // a fixed token, or
  std::string token_file;      //   a file that is read anew (service account tokens are replaced)
  std::string namespace_name;  // of the context or of our own pod; empty: default
};

// The current context of the file. Every error names the file, the field and the cure; kBadRequest
// for content.
Result<ClientConfig> load_kubeconfig(const std::string& path);

// From KUBERNETES_SERVICE_HOST/_PORT and the service account folder (ca.crt, token, namespace).
// `folder` for tests.
Result<ClientConfig> in_cluster_config(
    const std::string& host, const std::string& port,
    const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace loadline::kube
