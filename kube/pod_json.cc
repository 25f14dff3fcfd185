#include "kube/pod_json.h"

#include "kube/json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace loadline::kube {
namespace {

using Kind = JsonValue::Kind;

// Every name that is asked for below, whatever it is a member of.
constexpr std::array<std::string_view, 37> kKeys{"annotations",
                                                 "apiVersion",
                                                 "code",
                                                 "conditions",
                                                 "containerPort",
                                                 "containers",
                                                 "continue",
                                                 "controller",
                                                 "creationTimestamp",
                                                 "deletionTimestamp",
                                                 "details",
                                                 "hostNetwork",
                                                 "initContainers",
                                                 "items",
                                                 "kind",
                                                 "labels",
                                                 "lastTransitionTime",
                                                 "message",
                                                 "metadata",
                                                 "name",
                                                 "namespace",
                                                 "nodeName",
                                                 "object",
                                                 "ownerReferences",
                                                 "phase",
                                                 "podIP",
                                                 "ports",
                                                 "protocol",
                                                 "reason",
                                                 "resourceVersion",
                                                 "restartPolicy",
                                                 "retryAfterSeconds",
                                                 "spec",
                                                 "startTime",
                                                 "status",
                                                 "type",
                                                 "uid"};
static_assert(std::is_sorted(kKeys.begin(), kKeys.end()));
constexpr std::array<std::string_view, 2> kFreeKeys{"labels", "annotations"};
constexpr JsonWanted kWanted{kKeys, kFreeKeys};

// Reads members of one object, remembering the first that has another type than it must. null
// counts as absent, as in Go.
class Fields {
 public:
  // object may be null, and then has no members.
  Fields(const JsonValue* object, std::string* error) : object_(object), error_(error) {}

  std::string text(std::string_view key) const {
    const JsonValue* value = find(key, Kind::kText, "a string");
    return value != nullptr ? value->text : std::string();
  }
  bool flag(std::string_view key) const {
    const JsonValue* value = find(key, Kind::kBool, "true or false");
    return value != nullptr && value->flag;
  }
  // 0 where absent.
  std::int64_t number(std::string_view key) const {
    const JsonValue* value = find(key, Kind::kInteger, "a whole number");
    return value != nullptr ? value->integer : 0;
  }
  std::optional<WallTime> time(std::string_view key) const {
    const JsonValue* value = find(key, Kind::kText, "a time");
    if (value == nullptr) return std::nullopt;
    const auto time = parse_rfc3339(value->text);
    if (!time) complain(key, "a time");
    return time;
  }
  Fields object(std::string_view key) const {
    return Fields(find(key, Kind::kObject, "an object"), error_);
  }

  template <class Visit>
  void each(std::string_view key, Visit visit) const {
    const JsonValue* list = find(key, Kind::kList, "a list");
    if (list == nullptr) return;
    for (const JsonValue& element : list->items) {
      if (element.kind == Kind::kObject) {
        visit(Fields(&element, error_));
      } else {
        complain(key, "a list of objects");
      }
    }
  }

  Labels labels(std::string_view key, std::size_t most_bytes) const {
    Labels labels;
    const JsonValue* object = find(key, Kind::kObject, "an object");
    if (object == nullptr) return labels;
    for (const auto& [name, value] : object->members) {
      if (value.kind != Kind::kText) {
        complain(fmt::format("{}.{:.80}", key, name), "a string (quote it)");
      } else if (value.text.size() <= most_bytes) {
        labels.insert_or_assign(name, value.text);
      }
    }
    return labels;
  }

 private:
  const JsonValue* find(std::string_view key, Kind kind, std::string_view what) const {
    const JsonValue* value = object_ != nullptr ? object_->find(key) : nullptr;
    if (value == nullptr || value->kind == Kind::kNull) return nullptr;
    if (value->kind == kind) return value;
    complain(key, what);
    return nullptr;
  }
  void complain(std::string_view key, std::string_view what) const {
    if (error_->empty()) *error_ = fmt::format("{} must be {}", key, what);
  }

  const JsonValue* object_;
  std::string* error_;
};

void read_meta(const Fields& meta, Pod& pod) {
  pod.uid = meta.text("uid");
  pod.namespace_name = meta.text("namespace");
  pod.name = meta.text("name");
  pod.resource_version = meta.text("resourceVersion");
  pod.labels = meta.labels("labels", SIZE_MAX);
  pod.annotations = meta.labels("annotations", kMostAnnotationBytes);
  meta.each("ownerReferences", [&](const Fields& owner) {
    pod.owners.push_back({owner.text("apiVersion"), owner.text("kind"), owner.text("name"),
                          owner.text("uid"), owner.flag("controller")});
  });
  pod.created = meta.time("creationTimestamp");
  pod.deletion_timestamp = meta.time("deletionTimestamp");
}

void read_ports(const Fields& container, Pod& pod) {
  const std::string name = container.text("name");
  container.each("ports", [&](const Fields& port) {
    add_port(pod, name, port.text("name"), port.number("containerPort"), port.text("protocol"));
  });
}

void read_spec(const Fields& spec, Pod& pod) {
  pod.node_name = spec.text("nodeName");
  pod.host_network = spec.flag("hostNetwork");
  spec.each("containers", [&](const Fields& container) { read_ports(container, pod); });
  spec.each("initContainers", [&](const Fields& container) {
    if (container.text("restartPolicy") == "Always") read_ports(container, pod);
  });
}

void read_status(const Fields& status, Pod& pod) {
  pod.phase = parse_phase(status.text("phase"));
  pod.pod_ip = status.text("podIP");
  pod.started = status.time("startTime");
  status.each("conditions", [&](const Fields& condition) {
    if (condition.text("type") != "Ready") return;
    pod.ready = condition.text("status") == "True";
    if (pod.ready) pod.ready_since = condition.time("lastTransitionTime");
  });
}

Result<PodPtr> read_pod(const JsonValue& object) {
  std::string error;
  const Fields fields(&object, &error);
  Pod pod;
  read_meta(fields.object("metadata"), pod);
  read_spec(fields.object("spec"), pod);
  read_status(fields.object("status"), pod);
  if (!error.empty())
    return Error(Code::kBadRequest, fmt::format("pod {}: {}", pod_ref(pod), error));
  return finish_pod(std::move(pod));
}

ApiStatus read_api_status(const JsonValue& object) {
  std::string error;
  const Fields fields(&object, &error);
  ApiStatus status;
  status.code = static_cast<int>(std::clamp<std::int64_t>(fields.number("code"), 0, 999));
  status.reason = fields.text("reason");
  status.message = fields.text("message");
  const std::int64_t retry = fields.object("details").number("retryAfterSeconds");
  if (retry > 0)
    status.retry_after = std::chrono::seconds(std::min<std::int64_t>(retry, INT32_MAX));
  return status;
}

std::string kind_of(const JsonValue& object) {
  const JsonValue* kind = object.find("kind");
  return kind != nullptr ? kind->text : std::string();
}

void add_item(PodList& list, const JsonValue& item) {
  // The items of a PodList from the API server bear no kind; those of a List all do.
  if (const auto kind = kind_of(item); !kind.empty() && kind != "Pod") {
    ++list.skipped;
    return;
  }
  auto pod = read_pod(item);
  if (pod) {
    list.pods.push_back(std::move(*pod));
  } else if (list.malformed++ == 0) {
    list.malformed_reason = pod.error().message;
  }
}

Error unexpected_kind(const JsonValue& root) {
  const std::string kind = kind_of(root);
  if (kind == "Status") {
    if (const std::string message = read_api_status(root).message; !message.empty()) {
      return Error(Code::kBadRequest, message);
    }
  }
  if (kind.empty())
    return Error(Code::kBadRequest, "it has no kind: neither a Pod nor a PodList nor a List");
  return Error(Code::kBadRequest,
               fmt::format("kind \"{:.64}\" instead of Pod, PodList or List", kind));
}

}  // namespace

Result<PodList> decode_pod_list_json(std::string_view text) {
  PodList list;
  const auto root =
      read_json(text, kWanted, [&list](const JsonValue& item) { add_item(list, item); });
  if (!root) return root.error();
  const std::string kind = kind_of(*root);
  if (kind == "Pod") {
    list = PodList();
    add_item(list, *root);
    if (list.malformed > 0) return Error(Code::kBadRequest, list.malformed_reason);
    list.resource_version = list.pods.front()->resource_version;
    return list;
  }
  if (kind != "PodList" && kind != "List") return unexpected_kind(*root);
  const JsonValue* items = root->find("items");
  if (items == nullptr || (items->kind != Kind::kList && items->kind != Kind::kNull)) {
    return Error(Code::kBadRequest, fmt::format("the {} has no list of items", kind));
  }
  std::string error;
  const auto meta = Fields(&*root, &error).object("metadata");
  list.resource_version = meta.text("resourceVersion");
  list.continue_token = meta.text("continue");
  if (!error.empty()) return Error(Code::kBadRequest, error);
  return list;
}

Result<ApiStatus> decode_status_json(std::string_view text) {
  const auto root = read_json(text, kWanted);
  if (!root) return root.error();
  if (kind_of(*root) != "Status") return unexpected_kind(*root);
  return read_api_status(*root);
}

Result<WatchEvent> decode_watch_event_json(std::string_view text) {
  const auto root = read_json(text, kWanted);
  if (!root) return root.error();
  std::string error;
  const Fields fields(&*root, &error);
  const auto type = parse_watch_event_type(fields.text("type"));
  if (!type) return type.error();
  const JsonValue* object = root->find("object");
  if (object == nullptr || object->kind != Kind::kObject) {
    return Error(Code::kBadRequest, "a watch event has no object");
  }
  WatchEvent event;
  event.type = *type;
  if (*type == WatchEventType::kError) {
    event.status = read_api_status(*object);
    return event;
  }
  if (const auto kind = kind_of(*object); !kind.empty() && kind != "Pod")
    return unexpected_kind(*object);
  event.resource_version = fields.object("object").object("metadata").text("resourceVersion");
  if (!error.empty()) return Error(Code::kBadRequest, "watch event: " + error);
  if (*type == WatchEventType::kBookmark) return event;
  auto pod = read_pod(*object);
  if (!pod) return pod.error();
  event.pod = std::move(*pod);
  return event;
}

}  // namespace loadline::kube
