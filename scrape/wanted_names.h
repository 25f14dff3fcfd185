// The sample names that a scrape keeps; everything else on a page is stepped over. Immutable,
// shared by all targets of a kind.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::scrape {

class WantedNames {
 public:
  // Duplicates are dropped; the order of `names` gives the indexes. Throws std::length_error over
  // 4096 names.
  explicit WantedNames(std::vector<std::string> names);

  // The index into names(); no allocation, O(1).
  std::optional<std::uint16_t> find(std::string_view name) const;

  // A gate in front of find(), so that a scanner need not look for the end of the name in most
  // lines. false: what the line at `line` begins with is surely none of the names. REQUIRES:
  // gate_bytes() bytes are there; a shorter line has to be looked up.
  bool may_begin(const char* line) const { return gate_[gate_place(line + gate_offset_)]; }
  std::size_t gate_bytes() const { return gate_offset_ + sizeof(std::uint64_t); }

  const std::vector<std::string>& names() const { return names_; }

 private:
  static std::size_t gate_place(const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word * 0x9e3779b97f4a7c15u >> 54;
  }
  void build_slots();
  void build_gate();

  std::vector<std::string> names_;
  std::vector<std::uint16_t> slots_;  // open addressing over a hash of length and a few bytes
  // A Bloom filter over eight bytes of each name, taken where the names differ most.
  std::array<bool, 1024> gate_{};
  std::size_t gate_offset_ = 0;
};

}  // namespace loadline::scrape
