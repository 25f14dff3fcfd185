#include "scrape/wanted_names.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

namespace loadline::scrape {
namespace {

constexpr std::size_t kMostNames = 4096;
constexpr std::uint16_t kEmptySlot = 0xffff;
constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t load(const char* at, std::size_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}

// Length, head, middle and tail: names of one engine share long heads and a few tails ("_sum",
// "_total").
std::size_t hash_name(std::string_view name) {
  std::uint64_t h = name.size() * 0x9e3779b97f4a7c15u;
  if (name.size() < kWord) {
    h ^= load(name.data(), name.size());
  } else {
    h = (h ^ load(name.data(), kWord)) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 29 ^ load(name.data() + (name.size() - kWord) / 2, kWord)) * 0xc4ceb9fe1a85ec53u;
    h = h ^ h >> 31 ^ load(name.data() + name.size() - kWord, kWord);
  }
  h *= 0xff51afd7ed558ccdu;
  return h ^ h >> 32;
}

std::vector<std::string> without_duplicates(std::vector<std::string> names) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> kept;
  for (std::string& name : names) {
    if (seen.insert(name).second) kept.push_back(std::move(name));
  }
  return kept;
}

}  // namespace

WantedNames::WantedNames(std::vector<std::string> names)
    : names_(without_duplicates(std::move(names))) {
  if (names_.size() > kMostNames) throw std::length_error("more than 4096 wanted sample names");
  build_slots();
  build_gate();
}

void WantedNames::build_slots() {
  std::size_t size = 8;
  while (size < 2 * names_.size()) size *= 2;
  slots_.assign(size, kEmptySlot);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    std::size_t slot = hash_name(names_[i]) & (size - 1);
    while (slots_[slot] != kEmptySlot) slot = (slot + 1) & (size - 1);
    slots_[slot] = static_cast<std::uint16_t>(i);
  }
}

void WantedNames::build_gate() {
  if (names_.empty()) return;  // nothing passes
  const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const std::size_t shortest = std::min_element(names_.begin(), names_.end(), shorter)->size();
  if (shortest < kWord) {
    gate_.fill(true);  // open
    return;
  }
  std::size_t most_different = 0;
  for (std::size_t offset = 0; offset + kWord <= std::min<std::size_t>(shortest, 64); ++offset) {
    std::unordered_set<std::uint64_t> words;
    for (const std::string& name : names_) words.insert(load(name.data() + offset, kWord));
    if (words.size() > most_different) {
      most_different = words.size();
      gate_offset_ = offset;
    }
  }
  for (const std::string& name : names_) {
    gate_[gate_place(name.data() + gate_offset_)] = true;
  }
}

std::optional<std::uint16_t> WantedNames::find(std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash_name(name) & mask; slots_[slot] != kEmptySlot;
       slot = (slot + 1) & mask) {
    if (names_[slots_[slot]] == name) return slots_[slot];
  }
  return std::nullopt;
}

}  // namespace loadline::scrape
