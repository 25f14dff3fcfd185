#include "kube/pod_decode.h"

#include "tests/unit/kube/pod_fixture.h"
#include "tests/unit/kube/testdata.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loadline::kube {
namespace {

// What Go's encoder makes of the pod d/p with resourceVersion 7.
constexpr std::string_view kGoldenPod =
    "6b3873000a090a0276311203506f6412450a130a017012001a016422002a0032013738004200121c1a00320042004a"
    "0052005800600068008201"
    "008a01009a0100c201001a100a001a0022002a0032004a005a0072001a002200";
constexpr std::string_view kGoldenStatus =
    "6b3873000a0c0a027631120653746174757312210a060a0012001a0012074661696c7572651a016d22084e6f74466f"
    "756e643094031a002200";

// A pod with every field that we read, and some that we do not.
constexpr std::string_view kFullPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "llm-0", "namespace": "prod", "uid": "u-1", "resourceVersion": "77",
    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T05:04:05+01:00",
    "labels": {"app": "llm", "items": "a label may be called so"},
    "annotations": {"prometheus.io/port": "8000"},
    "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:metadata": {"f:labels": {}}}}],
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "llm", "uid": "o-1", "controller": true}]},
  "spec": {
    "nodeName": "n1", "hostNetwork": true, "volumes": [{"name": "v", "emptyDir": {}}],
    "containers": [{"name": "engine", "ports": [
        {"name": "http", "containerPort": 8000, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"},
        {"containerPort": 9000}, {"containerPort": 70000}, {"containerPort": -1}]}],
    "initContainers": [
      {"name": "proxy", "restartPolicy": "Always", "ports": [{"name": "metrics", "containerPort": 9090}]},
      {"name": "setup", "ports": [{"name": "never", "containerPort": 1234}]}]},
  "status": {
    "phase": "Running", "podIP": "10.0.0.1", "startTime": "2026-01-02T03:04:06.789Z",
    "conditions": [{"type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-02T03:04:07Z"},
                   {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:08Z"}]}})";
constexpr std::string_view kFullPodDescribed =
    "prod/llm-0 uid=u-1 version=77 phase=2 ready=1 since=2026-01-02T03:04:08Z "
    "created=2026-01-02T03:04:05Z "
    "started=2026-01-02T03:04:06Z deleted=2026-01-02T04:04:05Z node=n1 ip=10.0.0.1 host=1 "
    "label:app=llm "
    "label:items=a label may be called so annotation:prometheus.io/port=8000 "
    "owner:apps/v1/StatefulSet/llm/o-1/1 "
    "port:engine/http/8000 port:engine//9000 port:proxy/metrics/9090";

void set_time(proto::Time* time, std::int64_t seconds) { time->set_seconds(seconds); }

proto::Container container(const std::string& name, const std::string& port_name, int number,
                           const char* protocol = "") {
  proto::Container message;
  message.set_name(name);
  auto* port = message.add_ports();
  port->set_name(port_name);
  port->set_container_port(number);
  port->set_protocol(protocol);
  return message;
}

proto::Pod full_proto_pod() {
  proto::Pod pod = proto_pod({"llm-0", "u-1", "77", "prod"});
  auto& meta = *pod.mutable_metadata();
  set_time(meta.mutable_creation_timestamp(), 1767323045);
  set_time(meta.mutable_deletion_timestamp(), 1767326645);
  (*meta.mutable_labels())["app"] = "llm";
  (*meta.mutable_labels())["items"] = "a label may be called so";
  (*meta.mutable_annotations())["prometheus.io/port"] = "8000";
  auto& owner = *meta.add_owner_references();
  owner.set_api_version("apps/v1");
  owner.set_kind("StatefulSet");
  owner.set_name("llm");
  owner.set_uid("o-1");
  owner.set_controller(true);
  auto& spec = *pod.mutable_spec();
  spec.set_node_name("n1");
  spec.set_host_network(true);
  *spec.add_containers() = container("engine", "http", 8000, "TCP");
  *spec.mutable_containers(0)->add_ports() = container("", "", 53, "UDP").ports(0);
  *spec.mutable_containers(0)->add_ports() = container("", "", 9000).ports(0);
  *spec.mutable_containers(0)->add_ports() = container("", "", 70000).ports(0);
  *spec.add_init_containers() = container("proxy", "metrics", 9090);
  spec.mutable_init_containers(0)->set_restart_policy("Always");
  *spec.add_init_containers() = container("setup", "never", 1234);
  auto& status = *pod.mutable_status();
  status.set_pod_ip("10.0.0.1");
  set_time(status.mutable_start_time(), 1767323046);
  auto& condition = *status.add_conditions();
  condition.set_type("Ready");
  condition.set_status("True");
  set_time(condition.mutable_last_transition_time(), 1767323048);
  return pod;
}

std::string json_reason(std::string_view text) {
  const auto list = decode_pod_list(text, Encoding::kJson);
  if (!list) return list.error().message;
  return list->malformed > 0 ? list->malformed_reason : "";
}

TEST(PodDecode, GoldenPodOfTheApiServer) {
  const auto list = decode_pod_list(hex_to_bytes(kGoldenPod), Encoding::kProtobuf);
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->pods.size(), 1U);
  EXPECT_EQ(describe(*list->pods[0]),
            "d/p uid=d/p version=7 phase=0 ready=0 since=- created=- started=- deleted=- node= ip= "
            "host=0");
}

TEST(PodDecode, GoldenStatusOfTheApiServer) {
  const ApiStatus status = decode_status(hex_to_bytes(kGoldenStatus));
  EXPECT_EQ(status.code, 404);
  EXPECT_EQ(status.reason, "NotFound");
  EXPECT_EQ(status.message, "m");
  EXPECT_FALSE(status.retry_after);
}

TEST(PodDecode, JsonAndProtobufGiveTheSamePod) {
  const auto json = decode_pod_list(kFullPod, Encoding::kJson);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(describe(*json->pods.at(0)), kFullPodDescribed);
  const auto bytes = envelope("Pod", full_proto_pod().SerializeAsString());
  const auto protobuf = decode_pod_list(bytes, Encoding::kProtobuf);
  ASSERT_TRUE(protobuf) << protobuf.error().message;
  EXPECT_EQ(describe(*protobuf->pods.at(0)), kFullPodDescribed);
}

TEST(PodDecode, ListsGiveVersionAndContinueToken) {
  const std::vector<PodSpecimen> pods{{"a", "1", "5"}, {"b", "2", "6"}};
  for (const auto encoding : {Encoding::kJson, Encoding::kProtobuf}) {
    const auto bytes = encoding == Encoding::kJson ? json_list(pods, "900", "next/+=")
                                                   : proto_list(pods, "900", "next/+=");
    const auto list = decode_pod_list(bytes, encoding);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(names(list->pods), "{a1,b2}");
    EXPECT_EQ(list->resource_version, "900");
    EXPECT_EQ(list->continue_token, "next/+=");
    EXPECT_EQ(list->malformed + list->skipped, 0U);
  }
}

TEST(PodDecode, KubectlListSkipsOtherKindsAndCountsThem) {
  const std::string text =
      R"({"apiVersion":"v1","items":[{"kind":"Service","metadata":{"name":"s"}},)" +
      json_pod({"a", "1", "5"}) + R"(],"kind":"List","metadata":{"resourceVersion":""}})";
  const auto list = decode_pod_list(text, Encoding::kJson);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(names(list->pods), "{a1}");
  EXPECT_EQ(list->skipped, 1U);
}

TEST(PodDecode, EmptyListsAreLists) {
  for (const std::string_view items : {"[]", "null"}) {
    const auto list = decode_pod_list(
        R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":)" +
            std::string(items) + "}",
        Encoding::kJson);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_TRUE(list->pods.empty());
    EXPECT_EQ(list->resource_version, "3");
  }
}

TEST(PodDecode, OneBadPodDoesNotSpoilTheList) {
  const std::string bad = R"({"metadata":{"name":"bad","namespace":"ns","labels":{"port":8000}}})";
  const auto json = decode_pod_list(R"({"kind":"PodList","metadata":{},"items":[)" + bad + "," +
                                        json_pod({"a", "1", "5"}) + ",7]}",
                                    Encoding::kJson);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(names(json->pods), "{a1}");
  EXPECT_EQ(json->malformed, 2U);
  EXPECT_EQ(json->malformed_reason, "pod ns/bad: labels.port must be a string (quote it)");

  proto::PodList list;
  list.add_items();  // has no name
  *list.add_items() = proto_pod({"a", "1", "5"});
  // An item whose bytes are no Pod: field 1 as a varint that never ends.
  const std::string broken_item("\x12\x03\x0a\xff\xff", 5);
  const auto protobuf = decode_pod_list(envelope("PodList", list.SerializeAsString() + broken_item),
                                        Encoding::kProtobuf);
  ASSERT_TRUE(protobuf) << protobuf.error().message;
  EXPECT_EQ(names(protobuf->pods), "{a1}");
  EXPECT_EQ(protobuf->malformed, 2U);
  EXPECT_EQ(protobuf->malformed_reason, "a pod has no metadata.name");
}

TEST(PodDecode, UnknownFieldsOfNewReleasesAreSkipped) {
  std::string raw = proto_pod({"a", "1", "5"}).SerializeAsString();
  raw += std::string("\xa2\x06\x03new", 6);   // field 100, bytes
  raw += std::string("\xa8\x06\x96\x01", 4);  // field 101, varint
  proto::PodList list;
  list.mutable_metadata()->set_resource_version("9");
  const std::string bytes = list.SerializeAsString() + std::string("\x12") +
                            static_cast<char>(raw.size()) + raw + std::string("\xa8\x06\x01", 3) +
                            std::string("\xa2\x06\x01x", 4);
  const auto decoded = decode_pod_list(envelope("PodList", bytes), Encoding::kProtobuf);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(names(decoded->pods), "{a1}");
  EXPECT_EQ(decoded->resource_version, "9");
}

TEST(PodDecode, WhatIsNoListOfPodsIsRefusedWithItsKind) {
  EXPECT_EQ(json_reason(R"({"pods":[]})"),
            "it has no kind: neither a Pod nor a PodList nor a List");
  EXPECT_EQ(json_reason(R"({"kind":"DeploymentList","items":[]})"),
            "kind \"DeploymentList\" instead of Pod, PodList or List");
  EXPECT_EQ(json_reason(R"({"kind":"PodList"})"), "the PodList has no list of items");
  EXPECT_EQ(json_reason(R"({"kind":"PodList","items":{}})"), "the PodList has no list of items");
  EXPECT_EQ(json_reason(R"({"kind":"Status","message":"no"})"), "no");
  EXPECT_EQ(json_reason(R"({"kind":"Status"})"), "kind \"Status\" instead of Pod, PodList or List");
  EXPECT_EQ(decode_pod_list(envelope("Status", ""), Encoding::kProtobuf).error().message,
            "kind \"Status\" instead of PodList");
  EXPECT_EQ(json_reason("[]"), "the JSON document is no object");
  EXPECT_NE(json_reason(""), "");
  EXPECT_NE(json_reason("{\"kind\":"), "");
  const auto protobuf = decode_pod_list(envelope("NodeList", ""), Encoding::kProtobuf);
  ASSERT_FALSE(protobuf);
  EXPECT_EQ(protobuf.error().message, "kind \"NodeList\" instead of PodList");
  EXPECT_FALSE(decode_pod_list(json_list({}, "1"), Encoding::kProtobuf));
}

TEST(PodDecode, WrongTypesAreToldByField) {
  const auto pod = [](const std::string& parts) {
    return json_reason(R"({"kind":"Pod","metadata":{"name":"a","namespace":"ns")" + parts + "}");
  };
  EXPECT_EQ(pod("}"), "");
  EXPECT_EQ(pod(R"(,"uid":1})"), "pod ns/a: uid must be a string");
  EXPECT_EQ(pod(R"(,"deletionTimestamp":"tomorrow"})"),
            "pod ns/a: deletionTimestamp must be a time");
  EXPECT_EQ(pod(R"(,"ownerReferences":["x"]})"),
            "pod ns/a: ownerReferences must be a list of objects");
  EXPECT_EQ(pod(R"(},"spec":{"hostNetwork":"yes"})"),
            "pod ns/a: hostNetwork must be true or false");
  EXPECT_EQ(pod(R"(},"spec":[])"), "pod ns/a: spec must be an object");
  EXPECT_EQ(pod(R"(},"status":{"podIP":"metadata.internal"})"),
            "pod ns/a: status.podIP \"metadata.internal\" is no IP address");
  EXPECT_EQ(pod(R"(},"status":{"podIP":"fd00::1"})"), "");
}

TEST(PodDecode, HostileJsonIsBounded) {
  EXPECT_EQ(json_reason(R"({"kind":"PodList","items":)" + std::string(100'000, '[')),
            "nested deeper than 64 levels");
  EXPECT_EQ(json_reason(R"({"kind":"PodList","volumes":)" + std::string(100'000, '[')),
            "nested deeper than 64 levels");
  std::string labels;
  for (int i = 0; i < 25'000; ++i) labels += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(json_reason(R"({"kind":"PodList","items":[{"metadata":{"name":"a","labels":{)" +
                        labels + "}}}]}"),
            "an object of more than 20000 values");
  // The same in a member that is not read costs nothing.
  EXPECT_EQ(json_reason(R"({"kind":"PodList","items":[{"metadata":{"name":"a","managedFields":[{)" +
                        labels + "}]}}]}"),
            "");
}

TEST(PodDecode, TheLastOfTwoMembersOfOneNameCounts) {
  const auto list = decode_pod_list(
      R"({"kind":"Pod","metadata":{"name":"a","name":"b","uid":"1","labels":{"x":"1","x":"2"}}})",
      Encoding::kJson);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(names(list->pods), "{b1}");
  EXPECT_EQ(list->pods[0]->labels, (Labels{{"x", "2"}}));
}

TEST(PodDecode, CutProtobufNeverGivesMoreThanTheWhole) {
  const std::string whole = proto_list({{"a", "1", "5"}, {"b", "2", "6"}}, "900");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto list = decode_pod_list(std::string_view(whole).substr(0, size), Encoding::kProtobuf);
    EXPECT_FALSE(list) << size;
  }
}

TEST(PodDecode, LongAnnotationsAreNotKept) {
  const std::string text =
      R"({"kind":"Pod","metadata":{"name":"a","annotations":{"short":"x","long":")" +
      std::string(kMostAnnotationBytes + 1, 'y') + R"("}}})";
  const auto list = decode_pod_list(text, Encoding::kJson);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->pods.at(0)->annotations, (Labels{{"short", "x"}}));
}

TEST(PodDecode, TimesBeyondTheClockAreClamped) {
  EXPECT_GT(wall_time(INT64_MAX), wall_time(4'000'000'000));
  EXPECT_LT(wall_time(INT64_MIN), wall_time(0));
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59Z"), wall_time(INT64_MAX));
}

TEST(PodDecode, Rfc3339) {
  const auto f = [](std::string_view input, std::string_view want) {
    EXPECT_EQ(show(parse_rfc3339(input)), want) << input;
  };
  f("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z");
  f("2026-01-02T03:04:05.999999Z", "2026-01-02T03:04:05Z");
  f("2026-01-02T03:04:05+05:30", "2026-01-01T21:34:05Z");
  f("2026-01-02T03:04:05-01:00", "2026-01-02T04:04:05Z");
  f("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z");
  f("2026-02-29T00:00:00Z", "-");
  f("2026-01-02T24:00:00Z", "-");
  f("2026-01-02T03:04:05", "-");
  f("2026-01-02T03:04:05.Z", "-");
  f("2026-01-02T03:04:05Zx", "-");
  f("2026-1-02T03:04:05Z", "-");
  f("+026-01-02T03:04:05Z", "-");
  f("2026-01-02 03:04:05Z", "-");
  f("", "-");
}

TEST(PodDecode, ContentTypesAreComparedWithoutParameters) {
  EXPECT_EQ(encoding_of("application/vnd.kubernetes.protobuf"), Encoding::kProtobuf);
  EXPECT_EQ(encoding_of("application/vnd.kubernetes.protobuf;stream=watch"), Encoding::kProtobuf);
  EXPECT_EQ(encoding_of("Application/vnd.kubernetes.Protobuf ; charset=utf-8"),
            Encoding::kProtobuf);
  EXPECT_EQ(encoding_of("application/json"), Encoding::kJson);
  EXPECT_EQ(encoding_of("application/json;x=application/vnd.kubernetes.protobuf"), Encoding::kJson);
  EXPECT_EQ(encoding_of(""), Encoding::kJson);
}

TEST(PodDecode, StatusOfAFailedRequest) {
  const ApiStatus json = decode_status(
      R"({"kind":"Status","code":429,"reason":"TooManyRequests","message":"slow","details":{"retryAfterSeconds":7}})");
  EXPECT_EQ(json.code, 429);
  EXPECT_EQ(json.reason, "TooManyRequests");
  EXPECT_EQ(json.retry_after, std::chrono::seconds(7));
  const ApiStatus text = decode_status("Too many requests, please try again later.\n");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.message, "Too many requests, please try again later.");
}

TEST(PodDecode, B33TheFieldsThatTellDeadPodsFromLiveOnesAreRead) {
  auto document = nlohmann::json::parse(read_testdata("B33-pod-phases.json"));
  nlohmann::json list{{"kind", "PodList"}, {"items", document.at("pods")}};
  const auto decoded = decode_pod_list(list.dump(), Encoding::kJson);
  ASSERT_TRUE(decoded) << decoded.error().message;
  std::string told;
  for (const auto& pod : decoded->pods) {
    told += pod->name + (pod->phase == PodPhase::kRunning ? " runs" : " does not run") +
            (pod->deletion_timestamp ? " terminating" : "") + (pod->ready ? " ready; " : "; ");
  }
  EXPECT_EQ(
      told,
      "a runs ready; b runs ready; c does not run; d runs terminating ready; e does not run; ");
}

}  // namespace
}  // namespace loadline::kube
