#include "kube/watch_frame.h"

#include "tests/unit/kube/pod_fixture.h"

#include <gtest/gtest.h>

namespace loadline::kube {
namespace {

constexpr std::string_view kGoldenFrame =
    "000000650a054144444544125c0a5a"
    "6b3873000a090a0276311203506f6412450a130a017012001a016422002a0032013738004200121c1a00320042004a"
    "0052005800600068008201"
    "008a01009a0100c201001a100a001a0022002a0032004a005a0072001a002200";

std::string proto_stream() {
  proto::Status status;
  status.set_code(410);
  status.set_reason("Expired");
  status.set_message("too old");
  proto::Pod bookmark;
  bookmark.mutable_metadata()->set_resource_version("900");
  return hex_to_bytes(kGoldenFrame) + proto_pod_event("MODIFIED", {"b", "2", "8"}) +
         proto_event("BOOKMARK", envelope("Pod", bookmark.SerializeAsString())) +
         proto_pod_event("DELETED", {"b", "2", "901"}) +
         proto_event("ERROR", envelope("Status", status.SerializeAsString()));
}

std::string json_stream() {
  return json_event("ADDED", json_pod({"p", "1", "7"})) + "\r\n" +
         json_event("MODIFIED", json_pod({"b", "2", "8"})) + json_bookmark("900") +
         json_event("DELETED", json_pod({"b", "2", "901"})) + json_expired_event();
}

std::vector<std::string> events_of(Encoding encoding, const std::vector<std::string_view>& chunks) {
  WatchFrameDecoder decoder(encoding);
  std::vector<WatchEvent> events;
  for (const auto chunk : chunks) {
    const Status status = decoder.feed(chunk, events);
    EXPECT_TRUE(status) << status.error().message;
  }
  EXPECT_EQ(decoder.pending_bytes(), 0U);
  std::vector<std::string> described;
  for (const auto& event : events) described.push_back(describe(event));
  return described;
}

std::string failure_of(Encoding encoding, std::string_view bytes,
                       std::size_t most = WatchFrameDecoder::kMostFrameBytes) {
  WatchFrameDecoder decoder(encoding, most);
  std::vector<WatchEvent> events;
  const Status status = decoder.feed(bytes, events);
  EXPECT_TRUE(status || !decoder.feed("", events)) << "a failed stream stays failed";
  return status ? "" : status.error().message;
}

TEST(WatchFrame, GoldenFrameOfTheApiServer) {
  const auto events = events_of(Encoding::kProtobuf, {hex_to_bytes(kGoldenFrame)});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0],
            "0 version=7 status=0// pod=d/p uid=d/p version=7 phase=0 ready=0 since=- created=- "
            "started=- deleted=- node= ip= "
            "host=0");
}

TEST(WatchFrame, AllFiveTypesInBothFramings) {
  const std::vector<std::pair<Encoding, std::string>> streams{{Encoding::kProtobuf, proto_stream()},
                                                              {Encoding::kJson, json_stream()}};
  for (const auto& [encoding, stream] : streams) {
    WatchFrameDecoder decoder(encoding);
    std::vector<WatchEvent> events;
    ASSERT_TRUE(decoder.feed(stream, events));
    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(events[0].type, WatchEventType::kAdded);
    EXPECT_EQ(events[0].pod->name, "p");
    EXPECT_EQ(events[1].type, WatchEventType::kModified);
    EXPECT_EQ(events[2].type, WatchEventType::kBookmark);
    EXPECT_EQ(events[2].pod, nullptr);
    EXPECT_EQ(events[2].resource_version, "900");
    EXPECT_EQ(events[3].type, WatchEventType::kDeleted);
    EXPECT_EQ(events[3].pod->uid, "2");
    EXPECT_EQ(events[4].type, WatchEventType::kError);
    EXPECT_EQ(events[4].status.code, 410);
    EXPECT_EQ(events[4].status.reason, "Expired");
  }
}

TEST(WatchFrame, AnySplitGivesTheSameEvents) {
  const std::vector<std::pair<Encoding, std::string>> streams{{Encoding::kProtobuf, proto_stream()},
                                                              {Encoding::kJson, json_stream()}};
  for (const auto& [encoding, stream] : streams) {
    const std::string_view bytes = stream;
    const auto whole = events_of(encoding, {bytes});
    std::vector<std::string_view> single;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(events_of(encoding, {bytes.substr(0, i), bytes.substr(i)}), whole)
          << "split at " << i;
      single.push_back(bytes.substr(i, 1));
    }
    EXPECT_EQ(events_of(encoding, single), whole);
  }
}

TEST(WatchFrame, EventsBeforeABadFrameAreDelivered) {
  for (const auto encoding : {Encoding::kProtobuf, Encoding::kJson}) {
    const bool json = encoding == Encoding::kJson;
    WatchFrameDecoder decoder(encoding);
    std::vector<WatchEvent> events;
    EXPECT_FALSE(decoder.feed(
        json ? json_bookmark("5") + "{\n" : hex_to_bytes(kGoldenFrame) + with_length("\xff"),
        events));
    EXPECT_EQ(events.size(), 1U);
  }
}

TEST(WatchFrame, HostileFramesAreRefused) {
  EXPECT_EQ(failure_of(Encoding::kProtobuf, "\xff\xff\xff\xff"),
            "a watch event is larger than 4194304 bytes");
  EXPECT_EQ(failure_of(Encoding::kProtobuf, std::string("\0\0\0\x0b", 4), 10),
            "a watch event is larger than 10 bytes");
  EXPECT_EQ(failure_of(Encoding::kProtobuf, std::string(4, '\0')),
            "watch event type \"\" is unknown");
  EXPECT_EQ(failure_of(Encoding::kProtobuf, proto_event("ADDED", "")),
            "malformed protobuf: an object does not begin with \"k8s\\0\"");
  EXPECT_EQ(failure_of(Encoding::kProtobuf, proto_event("ADDED", envelope("Node", ""))),
            "malformed protobuf: Pod of a watch");
  EXPECT_EQ(failure_of(Encoding::kProtobuf, proto_event("ADDED", envelope("Pod", ""))),
            "a pod has no metadata.name");
  EXPECT_EQ(failure_of(Encoding::kProtobuf, proto_pod_event("RENAMED", {"a", "1", "1"})),
            "watch event type \"RENAMED\" is unknown");
  EXPECT_EQ(failure_of(Encoding::kJson, std::string(11, 'x'), 10),
            "a watch event is larger than 10 bytes");
  EXPECT_EQ(failure_of(Encoding::kJson, std::string(11, 'x') + "\n", 10),
            "a watch event is larger than 10 bytes");
  EXPECT_EQ(failure_of(Encoding::kJson, "{\"type\":\"ADDED\"}\n"), "a watch event has no object");
  EXPECT_EQ(failure_of(Encoding::kJson, json_event("ADDED", "{}")), "a pod has no metadata.name");
  EXPECT_EQ(failure_of(Encoding::kJson, json_event("ADDED", R"({"kind":"Node"})")),
            "kind \"Node\" instead of Pod, PodList or List");
  EXPECT_EQ(
      failure_of(Encoding::kJson, json_event("BOOKMARK", R"({"metadata":{"resourceVersion":9}})")),
      "watch event: resourceVersion must be a string");
  EXPECT_NE(failure_of(Encoding::kJson, "garbage\n"), "");
}

TEST(WatchFrame, ALineThatNeverEndsIsRefusedWhileItArrives) {
  WatchFrameDecoder decoder(Encoding::kJson, 1000);
  std::vector<WatchEvent> events;
  std::size_t fed = 0;
  while (decoder.feed("xxxxxxxxxx", events) && fed < 10'000) fed += 10;
  EXPECT_EQ(fed, 1000U);
}

}  // namespace
}  // namespace loadline::kube
