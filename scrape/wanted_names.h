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

  // false: what `line` begins with is surely none of the names. A few instructions, so that a
  // scanner need not look for the end of the name in most lines.
  bool may_begin(std::string_view line) const {
    if (line.size() < gate_offset_ + sizeof(std::uint64_t)) return short_names_;
    const unsigned bit = gate_bit(line.data() + gate_offset_);
    return (gate_[bit / 64] >> (bit % 64) & 1) != 0;
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  static unsigned gate_bit(const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return static_cast<unsigned>(word * 0x9e3779b97f4a7c15u >> 54);
  }
  void build_slots();
  void build_gate();

  std::vector<std::string> names_;
  std::vector<std::uint16_t> slots_;  // open addressing over a hash of length and a few bytes
  // A Bloom filter over eight bytes of each name, taken where the names differ most.
  std::array<std::uint64_t, 16> gate_{};
  std::size_t gate_offset_ = 0;
  bool short_names_ = false;  // one is shorter than eight bytes: the gate lets everything through
};

}  // namespace loadline::scrape
