// Pods for tests, in both of the API server's encodings, and their printing for comparisons.
#pragma once

#include "base/clock.h"
#include "kube/pod.h"
#include "kube/watch_event.h"
#include "proto/kubernetes.pb.h"

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::kube {

// What identifies a pod and its state.
struct PodSpecimen {
  std::string name, uid, version, namespace_name = "ns", phase = "Running";
};

inline std::string hex_to_bytes(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

inline std::string json_pod(const PodSpecimen& pod) {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + pod.name +
         R"(","namespace":")" + pod.namespace_name + R"(","uid":")" + pod.uid +
         R"(","resourceVersion":")" + pod.version + R"("},"status":{"phase":")" + pod.phase +
         R"("}})";
}

inline std::string json_event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

inline std::string json_bookmark(const std::string& version) {
  return json_event("BOOKMARK",
                    R"({"kind":"Pod","metadata":{"resourceVersion":")" + version + R"("}})");
}

inline std::string json_expired_event() {
  return json_event("ERROR",
                    R"({"kind":"Status","status":"Failure","reason":"Expired","code":410})");
}

inline std::string json_list(const std::vector<PodSpecimen>& pods, const std::string& version,
                             const std::string& continue_token = "") {
  std::string items;
  for (const auto& pod : pods) items += (items.empty() ? "" : ",") + json_pod(pod);
  return R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" + version +
         R"(","continue":")" + continue_token + R"("},"items":[)" + items + "]}";
}

inline proto::Pod proto_pod(const PodSpecimen& pod) {
  proto::Pod message;
  message.mutable_metadata()->set_name(pod.name);
  message.mutable_metadata()->set_namespace_(pod.namespace_name);
  message.mutable_metadata()->set_uid(pod.uid);
  message.mutable_metadata()->set_resource_version(pod.version);
  message.mutable_status()->set_phase(pod.phase);
  return message;
}

inline std::string envelope(const std::string& kind, const std::string& raw) {
  proto::Unknown unknown;
  unknown.mutable_type_meta()->set_api_version("v1");
  unknown.mutable_type_meta()->set_kind(kind);
  unknown.set_raw(raw);
  return std::string("k8s\0", 4) + unknown.SerializeAsString();
}

inline std::string proto_list(const std::vector<PodSpecimen>& pods, const std::string& version,
                              const std::string& continue_token = "") {
  proto::PodList list;
  list.mutable_metadata()->set_resource_version(version);
  list.mutable_metadata()->set_continue_token(continue_token);
  for (const auto& pod : pods) *list.add_items() = proto_pod(pod);
  return envelope("PodList", list.SerializeAsString());
}

inline std::string with_length(const std::string& bytes) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8)
    frame.push_back(static_cast<char>(bytes.size() >> shift & 0xff));
  return frame + bytes;
}

// object: an envelope.
inline std::string proto_event(const std::string& type, const std::string& object) {
  proto::WatchEvent event;
  event.set_type(type);
  event.mutable_object()->set_raw(object);
  return with_length(event.SerializeAsString());
}

inline std::string proto_pod_event(const std::string& type, const PodSpecimen& pod) {
  return proto_event(type, envelope("Pod", proto_pod(pod).SerializeAsString()));
}

inline std::string show(const std::optional<WallTime>& time) { return time ? rfc3339(*time) : "-"; }

// Every field of the pod.
inline std::string describe(const Pod& pod) {
  std::ostringstream out;
  out << pod_ref(pod) << " uid=" << pod.uid << " version=" << pod.resource_version
      << " phase=" << static_cast<int>(pod.phase) << " ready=" << pod.ready
      << " since=" << show(pod.ready_since) << " created=" << show(pod.created)
      << " started=" << show(pod.started) << " deleted=" << show(pod.deletion_timestamp)
      << " node=" << pod.node_name << " ip=" << pod.pod_ip << " host=" << pod.host_network;
  for (const auto& [key, value] : pod.labels) out << " label:" << key << "=" << value;
  for (const auto& [key, value] : pod.annotations) out << " annotation:" << key << "=" << value;
  for (const auto& owner : pod.owners) {
    out << " owner:" << owner.api_version << "/" << owner.kind << "/" << owner.name << "/"
        << owner.uid << "/" << owner.controller;
  }
  for (const auto& port : pod.ports)
    out << " port:" << port.container << "/" << port.name << "/" << port.number;
  return out.str();
}

inline std::string describe(const WatchEvent& event) {
  std::ostringstream out;
  out << static_cast<int>(event.type) << " version=" << event.resource_version
      << " status=" << event.status.code << "/" << event.status.reason << "/"
      << event.status.message << " pod=";
  if (event.pod != nullptr) out << describe(*event.pod);
  return out.str();
}

// "{a1,b2}": names and uids.
inline std::string names(const std::vector<PodPtr>& pods) {
  std::string text = "{";
  for (const auto& pod : pods) text += (text.size() > 1 ? "," : "") + pod->name + pod->uid;
  return text + "}";
}

}  // namespace loadline::kube
