// The body of a watch, in both framings: no crash, and any cut of it into reads gives the same
// events and the same failure. The first byte chooses the framing, the second where the reads are
// cut.
#include "kube/watch_frame.h"
#include "tests/unit/kube/pod_fixture.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

using namespace loadline::kube;

std::string decode(Encoding encoding, std::string_view bytes, std::size_t step) {
  WatchFrameDecoder decoder(encoding, 4096);
  std::vector<WatchEvent> events;
  std::string error;
  while (!bytes.empty() && error.empty()) {
    const auto status = decoder.feed(bytes.substr(0, step), events);
    if (!status) error = status.error().message;
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  for (const auto& event : events) error += "\n" + describe(event);
  return error;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  if (size < 2) return 0;
  const Encoding encoding = (data[0] & 1) != 0 ? Encoding::kProtobuf : Encoding::kJson;
  const std::string_view bytes = std::string_view(input).substr(2);
  const std::string whole = decode(encoding, bytes, std::max<std::size_t>(bytes.size(), 1));
  if (decode(encoding, bytes, 1) != whole || decode(encoding, bytes, 1U + data[1]) != whole)
    std::abort();
  return 0;
}
