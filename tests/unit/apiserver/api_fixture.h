// An ApiServer in memory for tests: real authentication and authorization over a scripted
// Kubernetes API, a provider that answers by a function, a clock moved by hand. No sockets.
#pragma once

#include "apiserver/api_server.h"
#include "tests/support/manual_clock.h"
#include "tests/support/run_to_end.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loadline::apiserver {

// Certificates of three authorities, made once.
struct Pki {
  net::KeyPair front_ca, client_ca, other_ca;
  net::KeyPair proxy, wrong_name, user,
      stranger;  // stranger: signed by other_ca, CN front-proxy-client
};
const Pki& pki();
net::PeerCertificatePtr peer_of(const net::KeyPair& pair);

// What a cluster of kubeadm's kind has in its ConfigMap; client CA and uid headers as asked.
kube::AuthenticationConfig cluster_config(bool with_client_ca = true);
std::shared_ptr<const AuthenticationTrust> trust_of(kube::AuthenticationConfig config);

// The Kubernetes API: reviews answered by functions, and kept.
class FakeKubernetes final : public kube::Transport {
 public:
  // The spec of a SubjectAccessReview, as JSON → allowed.
  std::function<bool(const std::string&)> allow = [](const std::string&) { return false; };
  std::string deny_reason;
  std::optional<Error> outage;
  std::vector<std::string> access_reviews, token_reviews;  // bodies

  boost::asio::awaitable<Result<kube::ApiResponse>> request(std::string method, std::string path,
                                                            std::string accept,
                                                            std::string body) override;
  boost::asio::awaitable<Result<int>> stream(std::string path, std::string accept,
                                             const StreamSink& sink) override;

 private:
  Result<kube::ApiResponse> answer(const std::string& path, const std::string& body);
};

class FakeProvider final : public provider::MetricsProvider {
 public:
  using Answer = Result<std::vector<provider::PodMetricItem>>;
  std::function<Answer(const provider::PodMetricQuery&)> answer =
      [](const provider::PodMetricQuery&) {
        return Answer(Error(Code::kNotFound, "no pod matches"));
      };
  mutable std::vector<provider::PodMetricQuery> queries;

  std::shared_ptr<const provider::View> view() const override {
    return std::make_shared<provider::View>();
  }
  Answer pod_metric(const provider::PodMetricQuery& query) const override {
    queries.push_back(query);
    return answer(query);
  }
};

provider::PodMetricItem item(std::string pod, double value, std::int64_t unix_seconds,
                             std::optional<int> window_seconds = std::nullopt);

// Requests are of system:masters through the front proxy unless said otherwise.
class TestServer {
 public:
  explicit TestServer(ApiServer::Options options = {});

  net::ServerResponse send(net::ServerRequest request);
  net::ServerResponse get(const std::string& target, net::Headers headers = {});
  net::ServerResponse get_as(const std::string& user, const std::string& target,
                             net::Headers headers = {});
  net::ServerResponse request(const std::string& method, const std::string& target,
                              net::Headers headers = {});

  ManualClock clock;
  Snapshot<AuthenticationTrust> trust;
  FakeKubernetes kubernetes;
  FakeProvider provider;
  DelegatedAuthenticator authenticator;
  DelegatedAuthorizer authorizer;
  ApiServer server;
};

std::string body_of(const net::ServerResponse& response);
// The value of the header, "" when there is none.
std::string header_of(const net::ServerResponse& response, std::string_view name);
// A file of tests/testdata/apiserver.
std::string testdata(const std::string& name);

// Requests of requests.txt, by the name after "###".
std::vector<std::pair<std::string, net::ServerRequest>> captured_requests();

}  // namespace loadline::apiserver
