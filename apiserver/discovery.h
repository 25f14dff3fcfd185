// The discovery documents: which groups, versions and metrics are served. Built once from the
// catalogue, so that discovery answers whatever the pods and the Kubernetes API do. Every
// group-version lists at least one entry: clients take an empty one for a failure of the whole
// group (field case B01). Immutable, thread-safe.
#pragma once

#include "apiserver/document.h"

#include <string>
#include <string_view>
#include <vector>

namespace loadline::apiserver {

// One metric of custom.metrics.k8s.io.
struct ServedMetric {
  std::string resource;    // plural, with ".GROUP" where there is one: "pods", "deployments.apps"
  bool namespaced = true;  // the same for all metrics of a resource
  std::string metric;
};

struct MetricCatalogue {
  std::vector<ServedMetric> custom;
  bool external_enabled = false;
  std::vector<std::string> external;  // lower case
};

// The per-pod metrics of provider/metric.h, without external metrics.
MetricCatalogue pod_metric_catalogue();

struct GroupVersion {
  std::string group, version;
};

class Discovery {
 public:
  // Names that cannot stand in a path are left out and logged.
  explicit Discovery(MetricCatalogue catalogue);

  // GET /apis: what the Accept header takes first of the aggregated document in both its versions
  // and the APIGroupList, which an empty header gets; nullptr when it takes none of them.
  const Document* groups(std::string_view accept) const;

  // GET /apis/GROUP and /apis/GROUP/VERSION; nullptr where it is not served.
  const Document* group(std::string_view group) const;
  const Document* resources(std::string_view group, std::string_view version) const;

  bool serves(std::string_view group) const { return this->group(group) != nullptr; }
  bool serves(std::string_view group, std::string_view version) const {
    return resources(group, version) != nullptr;
  }

  // In order of preference within a group.
  const std::vector<GroupVersion>& group_versions() const { return group_versions_; }

 private:
  struct Keyed {
    std::string group, version;
    Document document;
  };

  Document group_list_, aggregated_v2_, aggregated_v2beta1_;
  std::vector<Keyed> groups_, resources_;
  std::vector<GroupVersion> group_versions_;
};

}  // namespace loadline::apiserver
