// What is scraped: an address, a path, and which sample names are wanted from the page. Immutable
// value.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace loadline::scrape {

class WantedNames;

struct Target {
  std::string id;    // unique among targets and never reused: the pod's uid
  std::string name;  // for people: "ns/pod"
  std::string host;  // IP literal
  std::uint16_t port = 0;
  std::string path = "/metrics";
  // Never null. The only knowledge that travels against the data's way; compared by address, so
  // share one.
  std::shared_ptr<const WantedNames> wanted;
  std::chrono::milliseconds interval{5'000};
  std::chrono::milliseconds timeout{4'000};  // for the whole scrape; at most the interval
  std::size_t body_bytes = 16u << 20;

  bool operator==(const Target&) const = default;
};

}  // namespace loadline::scrape
