#include "cmd/probe.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/task_group.h"
#include "provider/probe_report.h"
#include "provider/role.h"
#include "scrape/exposition.h"
#include "scrape/scraper.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/url/parse.hpp>
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

namespace loadline::cmd {
namespace {

// Of the URL as written: Boost.URL 1.81 takes ports that are none, and cuts others to 16 bits.
std::optional<std::uint16_t> port_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  const auto colon = url.find(':', url.starts_with('[') ? url.find(']') : 0);
  if (colon == url.npos || colon + 1 == url.size()) return std::uint16_t{80};
  url.remove_prefix(colon + 1);
  std::uint16_t port = 0;
  const auto [stop, error] = std::from_chars(url.data(), url.data() + url.size(), port);
  if (error != std::errc() || stop != url.data() + url.size() || port == 0) return std::nullopt;
  return port;
}

Result<scrape::Target> target_of(const std::string& url,
                                 std::shared_ptr<const scrape::WantedNames> wanted) {
  const auto parsed = boost::urls::parse_uri(url);
  if (!parsed || parsed->host().empty()) {
    return Error(Code::kBadRequest,
                 fmt::format("{} is no URL such as http://10.1.2.3:8000/metrics", url));
  }
  if (parsed->scheme_id() != boost::urls::scheme::http) {
    return Error(Code::kBadRequest, fmt::format("{}: only http:// can be probed", url));
  }
  if (parsed->has_userinfo()) {
    return Error(Code::kBadRequest,
                 fmt::format("{}: credentials in the URL are not used; leave them out", url));
  }
  const auto port = port_of(url);
  if (!port) {
    return Error(Code::kBadRequest, fmt::format("{}: the port must be 1 to 65535", url));
  }
  scrape::Target target;
  target.id = target.name = url;
  target.host = parsed->host_address();
  target.port = *port;
  const auto path = parsed->encoded_target();
  target.path = path.empty() ? "/metrics" : std::string(path);
  target.wanted = std::move(wanted);
  return target;
}

boost::asio::awaitable<void> scrape_into(scrape::Target target,
                                         std::optional<scrape::ScrapeResult>& page) {
  scrape::ScrapeResult result = co_await scrape::scrape_once(std::move(target), system_clock());
  page.emplace(std::move(result));
}

Result<scrape::ScrapeResult> scrape_url(const std::string& url,
                                        std::shared_ptr<const scrape::WantedNames> wanted) {
  auto target = target_of(url, std::move(wanted));
  if (!target) return target.error();
  std::optional<scrape::ScrapeResult> page;
  boost::asio::io_context loop(1);
  TaskGroup tasks(loop.get_executor());
  tasks.spawn("probe", scrape_into(std::move(*target), page));
  loop.run();
  if (!page)
    return Error(Code::kInternal,
                 "the scrape of " + url + " ended without a result; please report this");
  if (page->failure != scrape::ScrapeFailure::kNone) {
    return Error(Code::kUnavailable,
                 fmt::format("{}: {} ({})", url, page->message, scrape::to_string(page->failure)));
  }
  return std::move(*page);
}

Result<scrape::ScrapeResult> scan_file(const std::string& path, const scrape::WantedNames& wanted) {
  const auto bytes = read_file(path, 64u << 20);
  if (!bytes) {
    return Error(
        bytes.error().code,
        bytes.error().message + "; give a file, or a URL such as http://10.1.2.3:8000/metrics");
  }
  scrape::ScrapeResult page;
  page.target_id = path;
  page.time = system_clock().steady_now();
  page.wall_time = system_clock().wall_now();
  scrape::ExpositionScanner scanner(wanted, page);
  scanner.feed(*bytes);
  scanner.finish();
  if (page.failure != scrape::ScrapeFailure::kNone) {
    return Error(Code::kBadRequest, fmt::format("{}: {}", path, page.message));
  }
  return page;
}

void write_text(const provider::ProbeReport& report, std::ostream& out) {
  out << "engine    " << report.engine.value_or("not recognised") << '\n';
  if (!report.model.empty()) out << "model     " << report.model << '\n';
  for (std::size_t i = 0; i < provider::kRoles; ++i) {
    const auto role = static_cast<provider::Role>(i);
    const auto& value = provider::signal(report.signals, role);
    if (value) out << fmt::format("signal    {:<28} {}\n", provider::to_string(role), *value);
  }
  for (const std::string& name : report.missing) out << "missing   " << name << '\n';
  for (const std::string& text : report.warnings) out << "warning   " << text << '\n';
}

}  // namespace

Status probe(const ProbeOptions& options, std::ostream& out) {
  const auto profiles = provider::built_in_profiles();
  const auto wanted =
      std::make_shared<const scrape::WantedNames>(provider::wanted_sample_names(profiles));
  const bool is_url = options.source.find("://") != std::string::npos;
  auto page = is_url ? scrape_url(options.source, wanted) : scan_file(options.source, *wanted);
  if (!page) return page.error();
  auto report = provider::make_probe_report(profiles, *page, *wanted);
  if (!report) return report.error();
  if (options.json) {
    out << provider::to_json(*report) << '\n';
  } else {
    write_text(*report, out);
  }
  return {};
}

}  // namespace loadline::cmd
