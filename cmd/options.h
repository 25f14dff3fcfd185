// The command line: one struct a subcommand, filled and checked. Wrong input is one clear line that
// names the flag and the cure.
#pragma once

#include "cmd/replay.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace loadline::cmd {

enum class AuthorizationMode { kWebhook, kAlwaysDeny, kAlwaysAllow };

struct ServeOptions {
  // Where pods come from: a kubeconfig, a file, or (both empty) the cluster that we run in.
  std::string kubeconfig;
  std::string pods_file;

  std::string bind_address = "0.0.0.0";
  std::uint16_t secure_port = 10250;
  std::string tls_cert_file,
      tls_private_key_file;  // both or none: a self-signed certificate in memory
  std::chrono::milliseconds shutdown_delay{0};

  std::chrono::milliseconds scrape_interval{5'000};
  std::chrono::milliseconds scrape_timeout{4'000};

  // Without Kubernetes only.
  std::string client_ca_file, requestheader_client_ca_file;
  std::vector<std::string> requestheader_allowed_names;
  std::vector<std::string> requestheader_username_headers{"x-remote-user"};
  std::vector<std::string> requestheader_uid_headers;
  std::vector<std::string> requestheader_group_headers{"x-remote-group"};
  std::vector<std::string> requestheader_extra_headers_prefix{"x-remote-extra-"};
  bool anonymous_auth = false;
  std::optional<AuthorizationMode> authorization_mode;  // always set by parse_options

  int verbosity = 0;
};

struct DemoOptions {
  std::chrono::milliseconds duration{0};  // 0: two minutes, or until Ctrl-C
  std::uint16_t secure_port = 0;          // 0: any free one
  int engines = 3;
};

struct ProbeOptions {
  std::string source;  // http://HOST:PORT/PATH, or a file that holds a page
  bool json = false;
};

struct HelpText {
  std::string text;
};

using Options = std::variant<HelpText, ServeOptions, DemoOptions, ProbeOptions, ReplayOptions>;

// Errors are kBadRequest with the line to print.
Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace loadline::cmd
