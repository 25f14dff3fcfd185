// The sample names that a scrape keeps; everything else on a page is stepped over. Immutable, shared by all targets of a kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::scrape {

class WantedNames {
 public:
  // Duplicates are dropped; the order of `names` gives the indexes. At most 4096 names.
  explicit WantedNames(std::vector<std::string> names);

  // The index into names(); no allocation, O(1).
  std::optional<std::uint16_t> find(std::string_view name) const;

  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::uint16_t> slots_;  // open addressing over a hash of length and a few bytes
};

}  // namespace loadline::scrape
