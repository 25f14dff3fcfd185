// TokenReview and SubjectAccessReview: asking the Kubernetes API who a token is and what a user may
// do.
#pragma once

#include "base/result.h"
#include "kube/transport.h"

#include <boost/asio/awaitable.hpp>

#include <map>
#include <string>
#include <vector>

namespace loadline::kube {

struct UserInfo {
  std::string name, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

// What a request wants, as RequestInfo of a Kubernetes API server derives it from verb and path.
struct AccessAttributes {
  std::string verb;
  bool resource_request = false;
  std::string path;  // non-resource requests
  std::string namespace_name, group, version, resource, subresource, name;
};

struct AccessDecision {
  bool allowed = false;
  std::string reason;
};

// kUnauthorized when the API says that the token is not valid; any other error means that there was
// no answer.
boost::asio::awaitable<Result<UserInfo>> review_token(Transport& transport, std::string token);

// The JSON body, for tests and as a cache key.
std::string subject_access_review_json(const UserInfo& user, const AccessAttributes& attributes);

boost::asio::awaitable<Result<AccessDecision>> review_access(Transport& transport,
                                                             std::string review_json);

}  // namespace loadline::kube
