#include "kube/watch_frame.h"

#include "kube/pod_json.h"
#include "kube/pod_protobuf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace loadline::kube {
namespace {

constexpr std::size_t kLengthBytes = 4;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes.substr(0, kLengthBytes)) {
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return value;
}

Error too_large(std::size_t most) {
  return Error(Code::kTooLarge, fmt::format("a watch event is larger than {} bytes", most));
}

}  // namespace

Result<WatchEventType> parse_watch_event_type(std::string_view text) {
  if (text == "ADDED") return WatchEventType::kAdded;
  if (text == "MODIFIED") return WatchEventType::kModified;
  if (text == "DELETED") return WatchEventType::kDeleted;
  if (text == "BOOKMARK") return WatchEventType::kBookmark;
  if (text == "ERROR") return WatchEventType::kError;
  return Error(Code::kBadRequest, fmt::format("watch event type \"{:.40}\" is unknown", text));
}

Status WatchFrameDecoder::feed(std::string_view bytes, std::vector<WatchEvent>& events) {
  if (failed_) return Error(Code::kBadRequest, "the watch had failed before");
  // Whole frames are read where they lie; only a frame that straddles two reads is copied.
  const std::size_t searched = pending_.size();
  std::string_view rest = bytes;
  if (searched > 0) {
    pending_.append(bytes);
    rest = pending_;
  }
  const Status status = take_frames(rest, searched, events);
  if (!status) {
    failed_ = true;
    pending_.clear();
    return status;
  }
  pending_ = std::string(rest);
  return {};
}

Status WatchFrameDecoder::take_frames(std::string_view& bytes, std::size_t searched,
                                      std::vector<WatchEvent>& events) {
  for (bool more = true; more; searched = 0) {
    const Status status = encoding_ == Encoding::kProtobuf
                              ? take_length_frame(bytes, more, events)
                              : take_line(bytes, searched, more, events);
    if (!status) return status;
  }
  return {};
}

Status WatchFrameDecoder::take_length_frame(std::string_view& bytes, bool& more,
                                            std::vector<WatchEvent>& events) {
  more = false;
  if (bytes.size() < kLengthBytes) return {};
  const std::size_t length = big_endian(bytes);
  if (length > most_frame_bytes_) return too_large(most_frame_bytes_);
  if (bytes.size() - kLengthBytes < length) return {};
  auto event = decode_watch_event_protobuf(bytes.substr(kLengthBytes, length));
  if (!event) return event.error();
  events.push_back(std::move(*event));
  bytes.remove_prefix(kLengthBytes + length);
  more = true;
  return {};
}

Status WatchFrameDecoder::take_line(std::string_view& bytes, std::size_t searched, bool& more,
                                    std::vector<WatchEvent>& events) {
  more = false;
  const std::size_t end = bytes.find('\n', searched);
  if (std::min(end, bytes.size()) > most_frame_bytes_) return too_large(most_frame_bytes_);
  if (end == std::string_view::npos) return {};
  const std::string_view line = bytes.substr(0, end);
  if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
    auto event = decode_watch_event_json(line);
    if (!event) return event.error();
    events.push_back(std::move(*event));
  }
  bytes.remove_prefix(end + 1);
  more = true;
  return {};
}

}  // namespace loadline::kube
