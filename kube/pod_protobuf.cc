#include "kube/pod_protobuf.h"

#include "proto/kubernetes.pb.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace loadline::kube {
namespace {

constexpr std::string_view kMagic{"k8s\0", 4};

template <class Message>
bool parse(Message& message, std::string_view bytes) {
  return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

Error malformed(std::string_view what) {
  return Error(Code::kBadRequest, fmt::format("malformed protobuf: {}", what));
}

Result<proto::Unknown> open_envelope(std::string_view bytes) {
  if (!is_protobuf(bytes)) return malformed("an object does not begin with \"k8s\\0\"");
  proto::Unknown envelope;
  // Without its content an envelope was cut short: it must not pass for an empty object.
  if (!parse(envelope, bytes.substr(kMagic.size())) || !envelope.has_raw())
    return malformed("envelope");
  return envelope;
}

void read_owners(const proto::ObjectMeta& meta, Pod& pod) {
  for (const auto& owner : meta.owner_references()) {
    pod.owners.push_back(
        {owner.api_version(), owner.kind(), owner.name(), owner.uid(), owner.controller()});
  }
}

void read_meta(const proto::ObjectMeta& meta, Pod& pod) {
  pod.uid = meta.uid();
  pod.namespace_name = meta.namespace_();
  pod.name = meta.name();
  pod.resource_version = meta.resource_version();
  for (const auto& [key, value] : meta.labels()) pod.labels.emplace(key, value);
  for (const auto& [key, value] : meta.annotations()) {
    if (value.size() <= kMostAnnotationBytes) pod.annotations.emplace(key, value);
  }
  read_owners(meta, pod);
  // The encoder writes a time that is not set as an empty message; only a deletion time is left out
  // then.
  if (meta.creation_timestamp().seconds() != 0)
    pod.created = wall_time(meta.creation_timestamp().seconds());
  if (meta.has_deletion_timestamp())
    pod.deletion_timestamp = wall_time(meta.deletion_timestamp().seconds());
}

void read_ports(const proto::Container& container, Pod& pod) {
  for (const auto& port : container.ports()) {
    add_port(pod, container.name(), port.name(), port.container_port(), port.protocol());
  }
}

void read_spec(const proto::PodSpec& spec, Pod& pod) {
  pod.node_name = spec.node_name();
  pod.host_network = spec.host_network();
  for (const auto& container : spec.containers()) read_ports(container, pod);
  for (const auto& container : spec.init_containers()) {
    if (container.restart_policy() == "Always") read_ports(container, pod);
  }
}

void read_status(const proto::PodStatus& status, Pod& pod) {
  pod.phase = parse_phase(status.phase());
  pod.pod_ip = status.pod_ip();
  if (status.start_time().seconds() != 0) pod.started = wall_time(status.start_time().seconds());
  for (const auto& condition : status.conditions()) {
    if (condition.type() != "Ready") continue;
    pod.ready = condition.status() == "True";
    const std::int64_t since = condition.last_transition_time().seconds();
    if (pod.ready && since != 0) pod.ready_since = wall_time(since);
  }
}

Result<PodPtr> read_pod(const proto::Pod& message) {
  Pod pod;
  read_meta(message.metadata(), pod);
  read_spec(message.spec(), pod);
  read_status(message.status(), pod);
  return finish_pod(std::move(pod));
}

ApiStatus read_api_status(const proto::Status& message) {
  ApiStatus status;
  status.code = message.code();
  status.reason = message.reason();
  status.message = message.message();
  const int retry = message.details().retry_after_seconds();
  if (retry > 0) status.retry_after = std::chrono::seconds(retry);
  return status;
}

void add_item(PodList& list, Result<PodPtr> pod) {
  if (pod) {
    list.pods.push_back(std::move(*pod));
  } else if (list.malformed++ == 0) {
    list.malformed_reason = pod.error().message;
  }
}

using google::protobuf::internal::WireFormatLite;
constexpr std::uint32_t tag_of(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

// PodList field by field into one reused message: a page of pods as messages would be some ten
// times its bytes, and one bad pod would refuse them all.
Result<PodList> walk_pod_list(std::string_view bytes) {
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream in(&array);
  PodList list;
  proto::Pod pod;
  while (const std::uint32_t tag = in.ReadTag()) {
    if (tag != tag_of(proto::PodList::kMetadataFieldNumber) &&
        tag != tag_of(proto::PodList::kItemsFieldNumber)) {
      if (!WireFormatLite::SkipField(&in, tag)) return malformed("PodList");
      continue;
    }
    std::uint32_t length = 0;
    if (!in.ReadVarint32(&length)) return malformed("PodList");
    const auto start = static_cast<std::size_t>(in.CurrentPosition());
    if (length > bytes.size() - start) return malformed("PodList is cut short");
    const std::string_view field = bytes.substr(start, length);
    in.Skip(static_cast<int>(length));
    if (tag == tag_of(proto::PodList::kMetadataFieldNumber)) {
      proto::ListMeta meta;
      if (!parse(meta, field)) return malformed("metadata of PodList");
      list.resource_version = meta.resource_version();
      list.continue_token = meta.continue_token();
    } else {
      add_item(list, parse(pod, field) ? read_pod(pod) : malformed("Pod"));
    }
  }
  if (!in.ConsumedEntireMessage()) return malformed("PodList");
  return list;
}

Result<PodList> single_pod(std::string_view bytes) {
  proto::Pod message;
  if (!parse(message, bytes)) return malformed("Pod");
  auto pod = read_pod(message);
  if (!pod) return pod.error();
  PodList list;
  list.resource_version = (*pod)->resource_version;
  list.pods.push_back(std::move(*pod));
  return list;
}

}  // namespace

bool is_protobuf(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

Result<PodList> decode_pod_list_protobuf(std::string_view bytes) {
  const auto envelope = open_envelope(bytes);
  if (!envelope) return envelope.error();
  const auto& kind = envelope->type_meta().kind();
  if (envelope->type_meta().api_version() == "v1" && kind == "PodList")
    return walk_pod_list(envelope->raw());
  if (envelope->type_meta().api_version() == "v1" && kind == "Pod")
    return single_pod(envelope->raw());
  if (kind == "Status") {
    const auto status = decode_status_protobuf(bytes);
    if (status && !status->message.empty()) return Error(Code::kBadRequest, status->message);
  }
  return Error(Code::kBadRequest, fmt::format("kind \"{:.64}\" instead of PodList", kind));
}

Result<ApiStatus> decode_status_protobuf(std::string_view bytes) {
  const auto envelope = open_envelope(bytes);
  if (!envelope) return envelope.error();
  proto::Status message;
  if (envelope->type_meta().kind() != "Status" || !parse(message, envelope->raw()))
    return malformed("Status");
  return read_api_status(message);
}

Result<WatchEvent> decode_watch_event_protobuf(std::string_view bytes) {
  proto::WatchEvent message;
  if (!parse(message, bytes)) return malformed("watch event");
  const auto type = parse_watch_event_type(message.type());
  if (!type) return type.error();
  WatchEvent event;
  event.type = *type;
  if (*type == WatchEventType::kError) {
    auto status = decode_status_protobuf(message.object().raw());
    if (!status) return status.error();
    event.status = std::move(*status);
    return event;
  }
  const auto envelope = open_envelope(message.object().raw());
  if (!envelope) return envelope.error();
  proto::Pod object;
  if (envelope->type_meta().kind() != "Pod" || !parse(object, envelope->raw()))
    return malformed("Pod of a watch");
  event.resource_version = object.metadata().resource_version();
  if (*type == WatchEventType::kBookmark) return event;
  auto pod = read_pod(object);
  if (!pod) return pod.error();
  event.pod = std::move(*pod);
  return event;
}

}  // namespace loadline::kube
