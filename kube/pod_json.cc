#include "kube/pod_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace loadline::kube {
namespace {

using Json = nlohmann::json;

// Builds what we read of a document and nothing else: members that no code below asks for are never
// stored, and each element of the top-level "items" is handed over and forgotten. Bounded in depth
// and in values held at one time.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  static constexpr std::size_t kMostDepth = 64;
  static constexpr std::size_t kMostValues = 20'000;

  using OnItem = std::function<void(const Json&)>;
  explicit Reader(OnItem on_item = nullptr) : on_item_(std::move(on_item)) {}

  // The document without its items. kBadRequest tells where the text goes wrong.
  Result<Json> read(std::string_view text) {
    const bool good = Json::sax_parse(text.begin(), text.end(), this);
    if (!error_.empty()) return Error(Code::kBadRequest, error_);
    if (!good || !root_.is_object())
      return Error(Code::kBadRequest, "the JSON document is no object");
    return std::move(root_);
  }

  bool saw_items() const { return saw_items_; }

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(std::int64_t value) override { return scalar(value); }
  bool number_unsigned(std::uint64_t value) override { return scalar(value); }
  bool number_float(double value, const std::string&) override { return scalar(value); }
  bool string(std::string& value) override { return scalar(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (skipped_depth_ > 0) return true;
    key_ = std::move(name);
    wanted_ = is_wanted();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    // The library's text begins with its own number in brackets.
    const std::string_view what = e.what();
    const auto start = what.find("] ");
    error_ = fmt::format("no JSON at byte {}: {:.160}", position,
                         start == std::string_view::npos ? what : what.substr(start + 2));
    return false;
  }

 private:
  struct Level {
    Json* value;
    bool free_keys = false;  // labels and annotations: any key
    bool items = false;      // the top-level array of a list
  };

  bool is_wanted() const {
    static constexpr std::array<std::string_view, 36> kKeys{"annotations",
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
                                                            "type"};
    static_assert(std::is_sorted(kKeys.begin(), kKeys.end()));
    return levels_.back().free_keys || key_ == "uid" ||
           std::binary_search(kKeys.begin(), kKeys.end(), key_);
  }

  // Where the next value goes; null: it is not kept.
  Json* place(Json value) {
    if (++values_ > kMostValues)
      return fail(fmt::format("an object of more than {} values", kMostValues));
    if (levels_.empty()) return &(root_ = std::move(value));
    Json& parent = *levels_.back().value;
    if (!parent.is_array()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool skipping() const { return skipped_depth_ > 0 || (in_object() && !wanted_); }
  bool in_object() const { return !levels_.empty() && levels_.back().value->is_object(); }

  bool scalar(Json value) {
    if (skipping()) return true;
    if (!levels_.empty() && levels_.back().items) {
      on_item_(value);  // no object: counted as malformed
      return true;
    }
    return place(std::move(value)) != nullptr;
  }

  bool open(Json value) {
    if (levels_.size() + skipped_depth_ >= kMostDepth) {
      fail(fmt::format("nested deeper than {} levels", kMostDepth));
      return false;
    }
    if (skipping()) {
      ++skipped_depth_;
      return true;
    }
    const bool member = in_object();
    const bool items =
        on_item_ && levels_.size() == 1 && member && key_ == "items" && value.is_array();
    saw_items_ = saw_items_ || items;
    Json* const placed = place(std::move(value));
    if (placed == nullptr) return false;
    levels_.push_back({placed, member && (key_ == "labels" || key_ == "annotations"), items});
    return true;
  }

  bool close() {
    if (skipped_depth_ > 0) {
      --skipped_depth_;
      return true;
    }
    levels_.pop_back();
    if (!levels_.empty() && levels_.back().items) {
      on_item_(levels_.back().value->back());
      levels_.back().value->clear();
      values_ = 0;
    }
    return true;
  }

  Json* fail(std::string message) {
    error_ = std::move(message);
    return nullptr;
  }

  OnItem on_item_;
  Json root_;
  std::vector<Level> levels_;
  std::string key_, error_;
  bool wanted_ = true, saw_items_ = false;
  std::size_t skipped_depth_ = 0;  // containers open inside a member that is not kept
  std::size_t values_ = 0;
};

// Reads members of one object, remembering the first that has another type than it must. null
// counts as absent, as in Go.
class Fields {
 public:
  // object may be null, and then has no members.
  explicit Fields(const Json* object, std::string* error) : object_(object), error_(error) {}

  std::string text(const char* key) const {
    const Json* value = find(key, &Json::is_string, "a string");
    return value != nullptr ? value->get<std::string>() : std::string();
  }
  bool flag(const char* key) const {
    const Json* value = find(key, &Json::is_boolean, "true or false");
    return value != nullptr && value->get<bool>();
  }
  // 0 where absent or beyond 64 bits.
  std::int64_t number(const char* key) const {
    const Json* value = find(key, &Json::is_number_integer, "a whole number");
    if (value == nullptr ||
        (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX))
      return 0;
    return value->get<std::int64_t>();
  }
  std::optional<WallTime> time(const char* key) const {
    const Json* value = find(key, &Json::is_string, "a time");
    if (value == nullptr) return std::nullopt;
    const auto time = parse_rfc3339(value->get_ref<const std::string&>());
    if (!time) complain(key, "a time");
    return time;
  }
  Fields object(const char* key) const {
    return Fields(find(key, &Json::is_object, "an object"), error_);
  }

  template <class Visit>
  void each(const char* key, Visit visit) const {
    const Json* list = find(key, &Json::is_array, "a list");
    if (list == nullptr) return;
    for (const Json& element : *list) {
      if (element.is_object()) {
        visit(Fields(&element, error_));
      } else {
        complain(key, "a list of objects");
      }
    }
  }

  Labels labels(const char* key, std::size_t most_bytes) const {
    Labels labels;
    const Json* object = find(key, &Json::is_object, "an object");
    if (object == nullptr) return labels;
    for (const auto& [name, value] : object->items()) {
      if (!value.is_string()) {
        complain(fmt::format("{}.{:.80}", key, name), "a string (quote it)");
      } else if (const auto& text = value.get_ref<const std::string&>();
                 text.size() <= most_bytes) {
        labels.emplace(name, text);
      }
    }
    return labels;
  }

 private:
  const Json* find(const char* key, bool (Json::*is_right)() const noexcept,
                   std::string_view what) const {
    if (object_ == nullptr) return nullptr;
    const auto member = object_->find(key);
    if (member == object_->end() || member->is_null()) return nullptr;
    if (((*member).*is_right)()) return &*member;
    complain(key, what);
    return nullptr;
  }
  void complain(std::string_view key, std::string_view what) const {
    if (error_->empty()) *error_ = fmt::format("{} must be {}", key, what);
  }

  const Json* object_;
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

Result<PodPtr> read_pod(const Json& object) {
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

ApiStatus read_api_status(const Json& object) {
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

std::string kind_of(const Json& object) {
  const auto kind = object.find("kind");
  return kind != object.end() && kind->is_string() ? kind->get<std::string>() : std::string();
}

void add_item(PodList& list, const Json& item) {
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

Error unexpected_kind(const Json& root) {
  const std::string kind = kind_of(root);
  if (kind == "Status") return Error(Code::kBadRequest, read_api_status(root).message);
  if (kind.empty())
    return Error(Code::kBadRequest, "it has no kind: neither a Pod nor a PodList nor a List");
  return Error(Code::kBadRequest,
               fmt::format("kind \"{:.64}\" instead of Pod, PodList or List", kind));
}

}  // namespace

Result<PodList> decode_pod_list_json(std::string_view text) {
  PodList list;
  Reader reader([&list](const Json& item) { add_item(list, item); });
  const auto root = reader.read(text);
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
  const auto items = root->find("items");
  if (items == root->end() || (!reader.saw_items() && !items->is_null())) {
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
  const auto root = Reader().read(text);
  if (!root) return root.error();
  if (kind_of(*root) != "Status") return unexpected_kind(*root);
  return read_api_status(*root);
}

Result<WatchEvent> decode_watch_event_json(std::string_view text) {
  const auto root = Reader().read(text);
  if (!root) return root.error();
  std::string error;
  const Fields fields(&*root, &error);
  const auto type = parse_watch_event_type(fields.text("type"));
  if (!type) return type.error();
  const auto object = root->find("object");
  if (object == root->end() || !object->is_object()) {
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
