#include "cmd/options.h"

#include "base/nearest_name.h"

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>

namespace loadline::cmd {
namespace {

using Millis = std::chrono::milliseconds;

// "5s", "500ms", "2m": durations as Kubernetes flags take them, in seconds.
std::optional<double> parse_duration(const std::string& text) {
  static const std::map<std::string, double> units{{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  std::size_t used = 0;
  double number = -1;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const auto unit = units.find(text.substr(used));
  if (unit == units.end() || !(number >= 0 && number <= 1e6)) return std::nullopt;
  return number * unit->second;
}

void duration_flag(CLI::App& app, const std::string& name, const std::string& help,
                   std::function<void(double)> set) {
  auto parse = [set = std::move(set), name](const CLI::results_t& given) {
    const auto seconds = parse_duration(given.at(0));
    if (!seconds)
      throw CLI::ConversionError(
          fmt::format("{}: {} is no duration such as 5s, 500ms or 2m", name, given.at(0)));
    set(*seconds);
    return true;
  };
  app.add_option(name, std::move(parse), help)->type_name("DURATION")->expected(1);
}

void duration_flag(CLI::App& app, const std::string& name, Millis& into, const std::string& help) {
  duration_flag(app, name, help, [&into](double s) {
    into = Millis(static_cast<std::int64_t>(std::llround(s * 1000)));
  });
}

void duration_flag(CLI::App& app, const std::string& name, double& into_seconds,
                   const std::string& help) {
  duration_flag(app, name, help, [&into_seconds](double s) { into_seconds = s; });
}

// An empty value is a shell variable that was not set, not a flag that was not given.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_size() == 0) continue;
    option->check(CLI::Validator(
        [](const std::string& value) {
          return value.empty() ? std::string("is empty") : std::string();
        },
        ""));
  }
  for (CLI::App* group : app.get_subcommands({})) refuse_empty_values(*group);
}

std::string ip_literal(const std::string& text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  return error ? text + " is no IP address such as 127.0.0.1, 0.0.0.0 or ::" : std::string();
}

void add_serve(CLI::App& app, ServeOptions& o) {
  const char* const pods = "Pods";
  app.add_option("--kubeconfig", o.kubeconfig,
                 "Kubeconfig FILE; without it and --pods: the cluster this runs in")
      ->type_name("FILE")
      ->group(pods);
  app.add_option("--pods", o.pods_file,
                 "FILE with what `kubectl get pods -A -o yaml` or json prints, watched for "
                 "changes; no Kubernetes needed")
      ->type_name("FILE")
      ->group(pods)
      ->excludes("--kubeconfig");

  CLI::App* serving = app.add_option_group("Serving");
  serving->add_option("--bind-address", o.bind_address, "IP address to listen on")
      ->check(CLI::Validator(ip_literal, ""))
      ->capture_default_str();
  serving->add_option("--secure-port", o.secure_port, "HTTPS port; 0 takes any free one")
      ->capture_default_str();
  serving
      ->add_option("--tls-cert-file", o.tls_cert_file,
                   "Certificate (PEM, with its chain); without: a self-signed one in memory")
      ->type_name("FILE");
  serving->add_option("--tls-private-key-file", o.tls_private_key_file, "Its private key (PEM)")
      ->type_name("FILE");
  duration_flag(*serving, "--shutdown-delay-duration", o.shutdown_delay,
                "Keep serving, not ready, this long after SIGTERM (default 0s)");

  CLI::App* scraping = app.add_option_group("Scraping");
  duration_flag(*scraping, "--scrape-interval", o.scrape_interval,
                "Between two scrapes of a pod (default 5s)");
  duration_flag(*scraping, "--scrape-timeout", o.scrape_timeout,
                "For one scrape (default 4s, at most the interval)");

  CLI::App* access = app.add_option_group("Access without Kubernetes (only with --pods)");
  access
      ->add_option("--client-ca-file", o.client_ca_file,
                   "CA of client certificates: CN is the user, O the groups")
      ->type_name("FILE");
  access
      ->add_option("--requestheader-client-ca-file", o.requestheader_client_ca_file,
                   "CA of front proxies, whose X-Remote-* headers are believed")
      ->type_name("FILE");
  access
      ->add_option("--requestheader-allowed-names", o.requestheader_allowed_names,
                   "Common names of front proxies; none given: any")
      ->delimiter(',');
  access
      ->add_option("--requestheader-username-headers", o.requestheader_username_headers,
                   "Headers that hold the user, the first that is set counts")
      ->delimiter(',')
      ->capture_default_str();
  access
      ->add_option("--requestheader-uid-headers", o.requestheader_uid_headers,
                   "Headers that hold the uid")
      ->delimiter(',');
  access
      ->add_option("--requestheader-group-headers", o.requestheader_group_headers,
                   "Headers that hold groups")
      ->delimiter(',')
      ->capture_default_str();
  access
      ->add_option("--requestheader-extra-headers-prefix", o.requestheader_extra_headers_prefix,
                   "Prefixes of headers that hold extra fields")
      ->delimiter(',')
      ->capture_default_str();
  access->add_flag(
      "--anonymous-auth{true}", o.anonymous_auth,
      "Let requests without credentials in as system:anonymous; loopback addresses only");
  auto set_mode = [&o](const CLI::results_t& given) {
    const std::map<std::string, AuthorizationMode> modes{
        {"Webhook", AuthorizationMode::kWebhook},
        {"AlwaysDeny", AuthorizationMode::kAlwaysDeny},
        {"AlwaysAllow", AuthorizationMode::kAlwaysAllow}};
    const auto mode = modes.find(given.at(0));
    if (mode == modes.end()) {
      throw CLI::ValidationError("--authorization-mode " + given.at(0) +
                                 ": must be Webhook, AlwaysDeny or AlwaysAllow");
    }
    o.authorization_mode = mode->second;
    return true;
  };
  access
      ->add_option("--authorization-mode", std::move(set_mode),
                   "Webhook (SubjectAccessReview, with Kubernetes), AlwaysDeny (the default with "
                   "--pods: group system:masters and health checks only), AlwaysAllow (loopback "
                   "addresses only)")
      ->type_name("MODE")
      ->expected(1);

  app.add_option("-v,--v", o.verbosity, "Log verbosity; 0 info, 1 and above debug")
      ->capture_default_str();
}

void add_replay(CLI::App& app, ReplayOptions& o) {
  app.add_option("--input", o.input,
                 "CSV with a header row of signals (t_s, completed_total, running, …)")
      ->type_name("FILE")
      ->required();
  app.add_option("--estimator", o.estimator, "classic")->capture_default_str();
  duration_flag(app, "--window", o.window_s, "Trailing window (default 60s)");
  duration_flag(app, "--warmup", o.warmup_s, "Busy time before the first figure (default 30s)");
  app.add_option("--multiplier", o.multiplier, "Seconds of work that a replica may hold")
      ->capture_default_str();
  app.add_option("--percentile", o.percentile, "Of concurrency, 0 to 1")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--min-ticks", o.min_ticks, "Busy samples before the first figure")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--aggregation", o.aggregation, "last, lifetime_max, max, mean or pNN")
      ->capture_default_str();
}

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1";
}

std::optional<std::string> complaint(ServeOptions& o) {
  const bool kubernetes = o.pods_file.empty();
  if (o.tls_cert_file.empty() != o.tls_private_key_file.empty()) {
    return "--tls-cert-file and --tls-private-key-file go together; give both or none";
  }
  if (o.scrape_interval < Millis(500)) return "--scrape-interval must be at least 500ms";
  if (o.scrape_timeout == Millis(0)) return "--scrape-timeout must be above 0s";
  o.scrape_timeout = std::min(o.scrape_timeout, o.scrape_interval);
  if (kubernetes) {
    if (o.anonymous_auth) {
      return "--anonymous-auth is for --pods alone; with Kubernetes, callers come through the "
             "aggregation layer or with a token";
    }
    if (o.authorization_mode.value_or(AuthorizationMode::kWebhook) != AuthorizationMode::kWebhook) {
      return "--authorization-mode is for --pods alone; with Kubernetes it is always Webhook";
    }
    if (!o.client_ca_file.empty() || !o.requestheader_client_ca_file.empty()) {
      return "--client-ca-file and --requestheader-client-ca-file are for --pods alone; with "
             "Kubernetes they come from the "
             "ConfigMap kube-system/extension-apiserver-authentication";
    }
    o.authorization_mode = AuthorizationMode::kWebhook;
    return std::nullopt;
  }
  if (o.authorization_mode == AuthorizationMode::kWebhook) {
    return "--authorization-mode Webhook needs Kubernetes to ask; with --pods use AlwaysDeny or "
           "AlwaysAllow";
  }
  if (!o.authorization_mode) o.authorization_mode = AuthorizationMode::kAlwaysDeny;
  if (!is_loopback(o.bind_address)) {
    if (o.anonymous_auth)
      return "--anonymous-auth needs a loopback --bind-address such as 127.0.0.1";
    if (o.authorization_mode == AuthorizationMode::kAlwaysAllow) {
      return "--authorization-mode AlwaysAllow needs a loopback --bind-address such as 127.0.0.1";
    }
  }
  return std::nullopt;
}

void flag_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  for (const CLI::App* group :
       app.get_subcommands([](const CLI::App* a) { return a->get_name().empty(); })) {
    flag_names(*group, names);
  }
}

std::string nearest_flag(const CLI::App& app, const std::string& given) {
  std::vector<std::string> names;
  flag_names(app, names);
  return nearest_name(given.substr(0, given.find('=')), names);
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  CLI::App app(
      "Loadline: serves the estimated capacity of model-serving pods to Kubernetes autoscalers.",
      "loadline");
  app.set_version_flag("--version", "loadline " LOADLINE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(44);

  ServeOptions serve;
  DemoOptions demo;
  ProbeOptions probe;
  ReplayOptions replay;

  CLI::App* serve_app =
      app.add_subcommand("serve", "The main job: scrape the pods, answer custom.metrics.k8s.io");
  add_serve(*serve_app, serve);

  CLI::App* demo_app =
      app.add_subcommand("demo", "The main job on simulated engines; no cluster needed");
  duration_flag(*demo_app, "--duration", demo.duration,
                "End by itself after this long; 0s, the default, is 2m");
  demo_app
      ->add_option("--secure-port", demo.secure_port,
                   "HTTPS port on 127.0.0.1; 0 takes any free one")
      ->capture_default_str();
  demo_app->add_option("--engines", demo.engines, "Simulated engines")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();

  CLI::App* probe_app = app.add_subcommand(
      "probe", "Look at one engine's metrics page: engine, signals, what is missing");
  std::string output = "text";
  probe_app
      ->add_option("source", probe.source, "http://HOST:PORT/PATH, or a FILE that holds a page")
      ->required();
  probe_app->add_option("--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));

  CLI::App* replay_app =
      app.add_subcommand("replay", "Recorded samples through an estimator; a JSON object a row");
  add_replay(*replay_app, replay);

  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    const CLI::App* asked = &app;
    for (const CLI::App* sub : app.get_subcommands()) asked = sub;
    return Options(HelpText{done.get_name() == "CallForVersion"
                                ? std::string("loadline " LOADLINE_VERSION "\n")
                                : asked->help()});
  } catch (const CLI::ExtrasError& error) {
    const CLI::App* asked = &app;
    for (const CLI::App* sub : app.get_subcommands()) asked = sub;
    const auto extras = asked->remaining(true);
    const std::string given = extras.empty() ? std::string() : extras.front();
    const std::string nearest = nearest_flag(*asked, given);
    return Error(Code::kBadRequest,
                 fmt::format("unknown argument {}{}; see loadline {} --help", given,
                             nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest),
                             asked == &app ? "" : asked->get_name()));
  } catch (const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    if (parsed.empty() && argc > 1 && argv[1][0] != '-') {
      const std::string nearest = nearest_name(argv[1], {"serve", "demo", "probe", "replay"});
      return Error(Code::kBadRequest,
                   fmt::format("there is no subcommand {}{}; see loadline --help", argv[1],
                               nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest)));
    }
    return Error(Code::kBadRequest,
                 fmt::format("{}; see loadline {}--help", error.what(),
                             parsed.empty() ? "" : parsed.front()->get_name() + " "));
  }

  if (serve_app->parsed()) {
    if (const auto wrong = complaint(serve)) return Error(Code::kBadRequest, *wrong);
    return Options(serve);
  }
  if (demo_app->parsed()) return Options(demo);
  if (probe_app->parsed()) {
    probe.json = output == "json";
    return Options(probe);
  }
  return Options(replay);
}

}  // namespace loadline::cmd
