#include "scrape/redirect.h"

#include <boost/asio/ip/address.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>

namespace loadline::scrape {
namespace {

namespace urls = boost::urls;

constexpr std::size_t kMostTargetBytes = 2048;
constexpr std::uint16_t kHttpPort = 80;

bool same_host(std::string_view ours, urls::string_view theirs) {
  boost::system::error_code bad_ours, bad_theirs;
  const auto a = boost::asio::ip::make_address(std::string(ours), bad_ours);
  const auto b = boost::asio::ip::make_address(std::string(theirs), bad_theirs);
  return !bad_ours && !bad_theirs && a == b;
}

bool same_port(std::uint16_t ours, const urls::url& theirs) {
  return (theirs.has_port() && !theirs.port().empty() ? theirs.port_number() : kHttpPort) == ours;
}

}  // namespace

std::optional<std::string> redirect_target(std::string_view host, std::uint16_t port,
                                           std::string_view path, std::string_view location) {
  const auto reference = urls::parse_uri_reference({location.data(), location.size()});
  const std::string_view base_path = path.substr(0, path.find('?'));
  const auto base = urls::parse_origin_form({base_path.data(), base_path.size()});
  if (!reference || !base) return std::nullopt;
  urls::url from;
  from.set_scheme("http").set_encoded_host("h").set_encoded_path(base->encoded_path());
  urls::url to;
  if (!urls::resolve(from, *reference, to)) return std::nullopt;

  const bool names_server = reference->has_authority();
  if (to.scheme_id() != urls::scheme::http || to.has_userinfo()) return std::nullopt;
  if (names_server && (!same_host(host, to.host_address()) || !same_port(port, to)))
    return std::nullopt;
  if (!names_server && reference->has_scheme()) return std::nullopt;

  std::string target(to.encoded_path().data(), to.encoded_path().size());
  if (target.empty()) target = "/";
  if (to.has_query())
    target += "?" + std::string(to.encoded_query().data(), to.encoded_query().size());
  if (!target.starts_with('/') || target.size() > kMostTargetBytes) return std::nullopt;
  return target;
}

}  // namespace loadline::scrape
