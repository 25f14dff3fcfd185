// Cuts a watch's body into events, however the network cuts the body: frames of a 4-byte big-endian
// length and a WatchEvent (protobuf), or lines (JSON). After an error the stream is unusable: its
// events cannot be told apart any more. Not thread-safe. Holds at most one frame.
#pragma once

#include "base/result.h"
#include "kube/watch_event.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::kube {

class WatchFrameDecoder {
 public:
  // etcd takes objects of 1.5 MB; JSON may be twice that.
  static constexpr std::size_t kMostFrameBytes = 4u << 20;

  explicit WatchFrameDecoder(Encoding encoding, std::size_t most_frame_bytes = kMostFrameBytes)
      : encoding_(encoding), most_frame_bytes_(most_frame_bytes) {}

  // Appends the events that `bytes` completes; those before an error are delivered. kTooLarge: a
  // frame beyond the bound; kBadRequest: a frame that is no event on a pod. Fails for ever after
  // the first failure.
  Status feed(std::string_view bytes, std::vector<WatchEvent>& events);

  // Bytes of a frame that is not complete yet.
  std::size_t pending_bytes() const { return pending_.size(); }

 private:
  Status take_frames(std::string_view& bytes, std::size_t searched,
                     std::vector<WatchEvent>& events);
  Status take_length_frame(std::string_view& bytes, bool& more, std::vector<WatchEvent>& events);
  Status take_line(std::string_view& bytes, std::size_t searched, bool& more,
                   std::vector<WatchEvent>& events);

  Encoding encoding_;
  std::size_t most_frame_bytes_;
  std::string pending_;
  bool failed_ = false;
};

}  // namespace loadline::kube
