#include "apiserver/discovery.h"

#include "apiserver/metric_name.h"
#include "apiserver/negotiation.h"
#include "apiserver/request_info.h"
#include "base/log.h"
#include "provider/metric.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace loadline::apiserver {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAggregatedType = "application/json;g=apidiscovery.k8s.io;v=";
constexpr std::string_view kAggregatedKind = ";as=APIGroupDiscoveryList";
// Stands in a list that would be empty otherwise.
constexpr std::string_view kPlaceholder = "externalmetrics";

std::string line(const Json& json) { return json.dump() + '\n'; }

bool advertised(const std::string& name) {
  const Status status = check_advertised_metric_name(name);
  if (!status)
    log_warning("metric not advertised", kv("metric", name), kv("error", status.error().message));
  return status.has_value();
}

Json version_entry(std::string_view group, std::string_view version) {
  return {{"groupVersion", std::string(group) + '/' + std::string(version)}, {"version", version}};
}

Json group_json(std::string_view group, const std::vector<std::string>& versions) {
  Json list = Json::array();
  for (const std::string& version : versions) list.push_back(version_entry(group, version));
  return {{"name", group},
          {"versions", list},
          {"preferredVersion", version_entry(group, versions.front())}};
}

Json legacy_resource(const std::string& name, bool namespaced, std::string_view kind) {
  return {{"name", name},
          {"singularName", ""},
          {"namespaced", namespaced},
          {"kind", kind},
          {"verbs", {"get"}}};
}

Json legacy_custom(const std::vector<ServedMetric>& metrics) {
  Json resources = Json::array();
  for (const ServedMetric& m : metrics) {
    resources.push_back(
        legacy_resource(m.resource + '/' + m.metric, m.namespaced, "MetricValueList"));
  }
  return resources;
}

Json legacy_external(const std::vector<std::string>& metrics) {
  Json resources = Json::array();
  for (const std::string& m : metrics)
    resources.push_back(legacy_resource(m, true, "ExternalMetricValueList"));
  return resources;
}

// Never null and never without a kind where there is one: both have broken clients.
Json response_kind(std::string_view kind) {
  return {{"group", ""}, {"version", ""}, {"kind", kind}};
}

Json aggregated_custom(const std::vector<ServedMetric>& metrics) {
  Json resources = Json::array();
  for (const ServedMetric& m : metrics) {
    auto parent = std::find_if(resources.begin(), resources.end(),
                               [&](const Json& r) { return r["resource"] == m.resource; });
    if (parent == resources.end()) {
      resources.push_back({{"resource", m.resource},
                           {"responseKind", response_kind("")},
                           {"scope", m.namespaced ? "Namespaced" : "Cluster"},
                           {"singularResource", ""},
                           {"verbs", Json::array()},
                           {"subresources", Json::array()}});
      parent = resources.end() - 1;
    }
    (*parent)["subresources"].push_back({{"subresource", m.metric},
                                         {"responseKind", response_kind("MetricValueList")},
                                         {"verbs", {"get"}}});
  }
  return resources;
}

Json aggregated_external(const std::vector<std::string>& metrics) {
  Json resources = Json::array();
  for (const std::string& m : metrics) {
    resources.push_back({{"resource", m},
                         {"responseKind", response_kind("ExternalMetricValueList")},
                         {"scope", "Namespaced"},
                         {"singularResource", ""},
                         {"verbs", {"get"}}});
  }
  return resources;
}

Json aggregated_group(std::string_view group, const std::vector<std::string>& versions,
                      const Json& resources) {
  Json list = Json::array();
  for (const std::string& version : versions) {
    list.push_back({{"version", version}, {"resources", resources}, {"freshness", "Current"}});
  }
  return {{"metadata", {{"name", group}, {"creationTimestamp", nullptr}}}, {"versions", list}};
}

Document aggregated_document(std::string_view version, const Json& groups) {
  const Json list = {{"kind", "APIGroupDiscoveryList"},
                     {"apiVersion", "apidiscovery.k8s.io/" + std::string(version)},
                     {"metadata", Json::object()},
                     {"items", groups}};
  return make_document(line(list), std::string(kAggregatedType) + std::string(version) +
                                       std::string(kAggregatedKind));
}

// The clients' own conversion fails as a whole where the metrics of one resource differ in scope.
void keep_one_scope(std::vector<ServedMetric>& metrics) {
  for (ServedMetric& m : metrics) {
    const auto first = std::find_if(metrics.begin(), metrics.end(), [&](const ServedMetric& other) {
      return other.resource == m.resource;
    });
    m.namespaced = first->namespaced;
  }
}

}  // namespace

MetricCatalogue pod_metric_catalogue() {
  MetricCatalogue catalogue;
  for (std::size_t i = 0; i < provider::kPodMetrics; ++i) {
    const auto metric = static_cast<provider::PodMetric>(i);
    catalogue.custom.push_back({"pods", true, std::string(provider::info(metric).name)});
  }
  return catalogue;
}

Discovery::Discovery(MetricCatalogue catalogue) {
  std::erase_if(catalogue.custom, [](const ServedMetric& m) { return !advertised(m.metric); });
  std::erase_if(catalogue.external, [](const std::string& m) { return !advertised(m); });
  if (catalogue.custom.empty())
    catalogue.custom.push_back({"pods", true, std::string(kPlaceholder)});
  if (catalogue.external.empty()) catalogue.external.emplace_back(kPlaceholder);
  keep_one_scope(catalogue.custom);

  Json group_list = Json::array();
  Json aggregated = Json::array();
  const auto add = [&](std::string_view group, const std::vector<std::string>& versions,
                       const Json& legacy, const Json& resources) {
    Json object = {{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    object.update(group_json(group, versions));
    groups_.push_back({std::string(group), "", make_document(line(object))});
    group_list.push_back(group_json(group, versions));
    aggregated.push_back(aggregated_group(group, versions, resources));
    for (const std::string& version : versions) {
      const Json list = {{"kind", "APIResourceList"},
                         {"apiVersion", "v1"},
                         {"groupVersion", std::string(group) + '/' + version},
                         {"resources", legacy}};
      resources_.push_back({std::string(group), version, make_document(line(list))});
      group_versions_.push_back({std::string(group), version});
    }
  };
  add(kCustomGroup, {"v1beta2", "v1beta1"}, legacy_custom(catalogue.custom),
      aggregated_custom(catalogue.custom));
  if (catalogue.external_enabled) {
    add(kExternalGroup, {"v1beta1"}, legacy_external(catalogue.external),
        aggregated_external(catalogue.external));
  }
  group_list_ = make_document(
      line({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(group_list)}}));
  aggregated_v2_ = aggregated_document("v2", aggregated);
  aggregated_v2beta1_ = aggregated_document("v2beta1", aggregated);
}

const Document* Discovery::groups(std::string_view accept) const {
  const std::vector<AcceptClause> clauses = parse_accept(accept);
  for (const AcceptClause& clause : clauses) {
    if (!clause_takes(clause, "application", "json")) continue;
    const std::string_view as = clause_parameter(clause, "as");
    if (as.empty()) return &group_list_;
    if (as != "APIGroupDiscoveryList" || clause_parameter(clause, "g") != "apidiscovery.k8s.io")
      continue;
    const std::string_view version = clause_parameter(clause, "v");
    if (version == "v2") return &aggregated_v2_;
    if (version == "v2beta1") return &aggregated_v2beta1_;
  }
  return clauses.empty() ? &group_list_ : nullptr;
}

const Document* Discovery::group(std::string_view group) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Keyed& k) { return k.group == group; });
  return found == groups_.end() ? nullptr : &found->document;
}

const Document* Discovery::resources(std::string_view group, std::string_view version) const {
  const auto found = std::find_if(resources_.begin(), resources_.end(), [&](const Keyed& k) {
    return k.group == group && k.version == version;
  });
  return found == resources_.end() ? nullptr : &found->document;
}

}  // namespace loadline::apiserver
