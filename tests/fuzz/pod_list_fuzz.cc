// A list of pods in both encodings, and YAML: no crash, and what was read keeps its promises. The
// first byte chooses.
#include "kube/pod_cache.h"
#include "kube/pod_decode.h"
#include "kube/pod_yaml.h"
#include "tests/unit/kube/pod_fixture.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

using namespace loadline::kube;

void require(bool good) {
  if (!good) std::abort();
}

std::string all(const std::vector<PodPtr>& pods) {
  std::string text;
  for (const auto& pod : pods) text += describe(*pod) + "\n";
  return text;
}

void check(const std::string& bytes, Encoding encoding) {
  const auto list = decode_pod_list(bytes, encoding);
  if (!list) return require(!list.error().message.empty());
  PodCache cache;
  for (const auto& pod : list->pods) {
    require(!pod->name.empty() && !pod->uid.empty());
    require(pod->ready || !pod->ready_since);
    for (const auto& port : pod->ports) require(port.number > 0);
    for (const auto& [key, value] : pod->annotations) require(value.size() <= kMostAnnotationBytes);
    cache.apply(pod);
  }
  // A list is the events of its pods, one after the other, but for names and uids that are there
  // twice.
  PodCache replaced;
  replaced.replace(list->pods);
  require(all(cache.sorted()) == all(replaced.sorted()));
  require(all(decode_pod_list(bytes, encoding)->pods) == all(list->pods));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string bytes(data + 1, data + size);
  const int choice = data[0] % 4;
  if (choice == 0) check(bytes, Encoding::kJson);
  if (choice == 1) check(bytes, Encoding::kProtobuf);
  if (choice == 2) {
    if (const auto documents = yaml_to_json(bytes)) {
      for (const auto& document : *documents) {
        check(document, Encoding::kJson);
        // What the writer wrote is JSON, whatever it means.
        const auto list = decode_pod_list(document, Encoding::kJson);
        require(list || !list.error().message.starts_with("no JSON"));
      }
    }
  }
  if (choice == 3) decode_status(bytes);
  return 0;
}
