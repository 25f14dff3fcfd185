// Kubeconfig files: what is accepted is whole and consistent, what is not is refused with the
// file's name.
#include "base/file.h"
#include "kube/bearer_token.h"
#include "kube/client_config.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

// A folder of our own, so that relative paths in the input find nothing but "config" itself.
const std::string& folder() {
  static const std::string path = [] {
    std::string name = (std::filesystem::temp_directory_path() / "loadline-fuzz-XXXXXX").string();
    check(::mkdtemp(name.data()) != nullptr);
    return name;
  }();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = folder() + "/config";
  check(loadline::write_file(path, std::string(data, data + size)).has_value());
  const auto config = loadline::kube::load_kubeconfig(path);
  if (!config) {
    check(config.error().message.find(path) != std::string::npos);
    return 0;
  }
  check(!config->host.empty() && config->port != 0);
  check(config->path_prefix.empty() ||
        (config->path_prefix.front() == '/' && config->path_prefix.back() != '/'));
  check(config->certificate_pem.empty() == config->key_pem.empty());
  check(!config->insecure_skip_verify || config->ca_pem.empty());
  check(config->ca_pem.empty() ||
        config->ca_pem.find("-----BEGIN CERTIFICATE-----") != std::string::npos);
  check(config->token.empty() ||
        (loadline::kube::is_token(config->token) && config->token_file.empty()));
  return 0;
}
