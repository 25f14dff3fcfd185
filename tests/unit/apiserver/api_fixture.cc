#include "tests/unit/apiserver/api_fixture.h"

#include "base/file.h"

#include <nlohmann/json.hpp>

#include <sstream>
#include <stdexcept>

namespace loadline::apiserver {

namespace asio = boost::asio;

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

Pki make_pki() {
  Pki p;
  p.front_ca = must(net::make_self_signed("front-proxy-ca", {}));
  p.client_ca = must(net::make_self_signed("kubernetes", {}));
  p.other_ca = must(net::make_self_signed("elsewhere", {}));
  p.proxy = must(net::make_signed(p.front_ca, "front-proxy-client", {}, {}));
  p.wrong_name = must(net::make_signed(p.front_ca, "somebody", {}, {}));
  p.user = must(net::make_signed(p.client_ca, "jane", {"dev", "ops"}, {}));
  p.stranger = must(net::make_signed(p.other_ca, "front-proxy-client", {}, {}));
  return p;
}

}  // namespace

const Pki& pki() {
  static const Pki made = make_pki();
  return made;
}

net::PeerCertificatePtr peer_of(const net::KeyPair& pair) {
  return must(net::peer_certificate_from_pem(pair.certificate_pem));
}

kube::AuthenticationConfig cluster_config(bool with_client_ca) {
  kube::AuthenticationConfig config;
  if (with_client_ca) config.client_ca_pem = pki().client_ca.certificate_pem;
  config.requestheader_ca_pem = pki().front_ca.certificate_pem;
  config.allowed_names = {"front-proxy-client"};
  config.username_headers = {"X-Remote-User"};
  config.group_headers = {"X-Remote-Group"};
  config.extra_header_prefixes = {"X-Remote-Extra-"};
  return config;
}

std::shared_ptr<const AuthenticationTrust> trust_of(kube::AuthenticationConfig config) {
  return must(make_authentication_trust(std::move(config)));
}

Result<kube::ApiResponse> FakeKubernetes::answer(const std::string& path, const std::string& body) {
  const bool token = path.find("tokenreviews") != std::string::npos;
  (token ? token_reviews : access_reviews).push_back(body);
  if (outage) return *outage;
  const auto spec = nlohmann::json::parse(body).at("spec");
  nlohmann::json review;
  review["kind"] = token ? "TokenReview" : "SubjectAccessReview";
  if (token && spec.at("token") == "good-token") {
    review["status"] = {{"authenticated", true},
                        {"user", {{"username", "alice"}, {"uid", "u-1"}, {"groups", {"readers"}}}}};
  } else if (token) {
    review["status"] = {{"user", nlohmann::json::object()}, {"error", "invalid bearer token"}};
  } else {
    const bool allowed = allow(spec.dump());
    review["status"]["allowed"] = allowed;
    if (!allowed && !deny_reason.empty()) review["status"]["reason"] = deny_reason;
  }
  kube::ApiResponse response;
  response.status = 201;
  response.content_type = "application/json";
  response.body = review.dump();
  return response;
}

asio::awaitable<Result<kube::ApiResponse>> FakeKubernetes::request(std::string, std::string path,
                                                                   std::string, std::string body) {
  co_return answer(path, body);
}

asio::awaitable<Result<int>> FakeKubernetes::stream(std::string, std::string, const StreamSink&) {
  co_return Error(Code::kInternal, "no streams here");
}

provider::PodMetricItem item(std::string pod, double value, std::int64_t unix_seconds,
                             std::optional<int> window_seconds) {
  provider::PodMetricItem made;
  made.pod = std::move(pod);
  made.value.value = value;
  made.value.timestamp = WallTime(std::chrono::seconds(unix_seconds));
  if (window_seconds) made.value.window = std::chrono::seconds(*window_seconds);
  return made;
}

TestServer::TestServer(ApiServer::Options options)
    : trust(trust_of(cluster_config())),
      authenticator(trust, &kubernetes, clock, DelegatedAuthenticator::Options()),
      authorizer(&kubernetes, clock, DelegatedAuthorizer::Options()),
      server(std::move(options), provider, authenticator, authorizer, clock) {}

net::ServerResponse TestServer::send(net::ServerRequest request) {
  auto shared = std::make_shared<const net::ServerRequest>(std::move(request));
  return run_to_end(server.handle(std::move(shared)));
}

net::ServerResponse TestServer::request(const std::string& method, const std::string& target,
                                        net::Headers headers) {
  net::ServerRequest request;
  request.method = method;
  request.target = target;
  request.headers = std::move(headers);
  request.headers.emplace_back("X-Remote-User", "system:kube-aggregator");
  request.headers.emplace_back("X-Remote-Group", "system:masters");
  request.peer = peer_of(pki().proxy);
  return send(std::move(request));
}

net::ServerResponse TestServer::get(const std::string& target, net::Headers headers) {
  return request("GET", target, std::move(headers));
}

net::ServerResponse TestServer::get_as(const std::string& user, const std::string& target,
                                       net::Headers headers) {
  net::ServerRequest request;
  request.method = "GET";
  request.target = target;
  request.headers = std::move(headers);
  request.headers.emplace_back("X-Remote-User", user);
  request.peer = peer_of(pki().proxy);
  return send(std::move(request));
}

std::string body_of(const net::ServerResponse& response) {
  return response.body == nullptr ? std::string() : *response.body;
}

std::string header_of(const net::ServerResponse& response, std::string_view name) {
  const std::string* value = net::find_header(response.headers, name);
  return value == nullptr ? std::string() : *value;
}

std::string testdata(const std::string& name) {
  return must(read_file(std::string(LOADLINE_SOURCE_DIR) + "/tests/testdata/apiserver/" + name));
}

std::vector<std::pair<std::string, net::ServerRequest>> captured_requests() {
  std::vector<std::pair<std::string, net::ServerRequest>> requests;
  std::istringstream lines(testdata("requests.txt"));
  for (std::string text; std::getline(lines, text);) {
    if (text.starts_with("### ")) {
      net::ServerRequest request;
      std::string first;
      std::getline(lines, first);
      request.method = first.substr(0, first.find(' '));
      const std::size_t begin = request.method.size() + 1;
      request.target = first.substr(begin, first.rfind(' ') - begin);
      requests.emplace_back(text.substr(4), std::move(request));
    } else if (const std::size_t colon = text.find(": ");
               colon != std::string::npos && !requests.empty()) {
      requests.back().second.headers.emplace_back(text.substr(0, colon), text.substr(colon + 2));
    }
  }
  return requests;
}

}  // namespace loadline::apiserver
