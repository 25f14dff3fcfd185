// The OpenAPI documents that kube-apiserver polls for ever and logs about while they are missing
// (field case B17), and /version. Small and valid; built once. Immutable, thread-safe.
#pragma once

#include "apiserver/discovery.h"
#include "apiserver/document.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loadline::apiserver {

// What /version tells; fields as in Kubernetes' version.Info.
struct VersionInfo {
  std::string major, minor, git_version = "v0.0.0", git_commit, git_tree_state, build_date,
                            compiler, platform;
};

Document version_document(const VersionInfo& version);

class OpenApi {
 public:
  OpenApi(const std::vector<GroupVersion>& group_versions, const VersionInfo& version);

  const Document& v2() const { return v2_; }
  const Document& v3() const { return v3_; }
  // nullptr for a group-version that is not served.
  const Document* v3(std::string_view group, std::string_view version) const;

 private:
  Document v2_, v3_;
  std::vector<std::pair<GroupVersion, Document>> v3_group_versions_;
};

}  // namespace loadline::apiserver
