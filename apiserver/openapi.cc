#include "apiserver/openapi.h"

#include <nlohmann/json.hpp>

namespace loadline::apiserver {
namespace {

using Json = nlohmann::ordered_json;

std::string path_of(const GroupVersion& gv) { return "apis/" + gv.group + '/' + gv.version; }

}  // namespace

Document version_document(const VersionInfo& version) {
  const Json json = {{"major", version.major},
                     {"minor", version.minor},
                     {"gitVersion", version.git_version},
                     {"gitCommit", version.git_commit},
                     {"gitTreeState", version.git_tree_state},
                     {"buildDate", version.build_date},
                     {"goVersion", ""},  // a member that clients insist on; there is no Go here
                     {"compiler", version.compiler},
                     {"platform", version.platform}};
  return make_document(json.dump(2) + '\n');
}

OpenApi::OpenApi(const std::vector<GroupVersion>& group_versions, const VersionInfo& version) {
  const Json info = {{"title", "Loadline"}, {"version", version.git_version}};
  v2_ = make_document(Json{{"swagger", "2.0"}, {"info", info}, {"paths", Json::object()}}.dump() +
                      '\n');
  Json paths = Json::object();
  for (const GroupVersion& gv : group_versions) {
    const Json spec = {{"openapi", "3.0.0"}, {"info", info}, {"paths", Json::object()}};
    v3_group_versions_.emplace_back(gv, make_document(spec.dump() + '\n'));
    const std::string& etag = v3_group_versions_.back().second.etag;
    paths[path_of(gv)] = {{"serverRelativeURL", "/openapi/v3/" + path_of(gv) +
                                                    "?hash=" + etag.substr(1, etag.size() - 2)}};
  }
  v3_ = make_document(Json{{"paths", paths}}.dump() + '\n');
}

const Document* OpenApi::v3(std::string_view group, std::string_view version) const {
  for (const auto& [gv, document] : v3_group_versions_) {
    if (gv.group == group && gv.version == version) return &document;
  }
  return nullptr;
}

}  // namespace loadline::apiserver
