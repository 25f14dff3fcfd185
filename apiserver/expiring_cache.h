// A bounded cache whose entries expire: answers of reviews and verified certificates. The least
// recently used entry makes room. Serving loop only. O(1) a call.
#pragma once

#include "base/clock.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace loadline::apiserver {

template <class Value>
class ExpiringCache {
 public:
  // At least one entry is kept.
  explicit ExpiringCache(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}
  ExpiringCache(const ExpiringCache&) = delete;
  ExpiringCache& operator=(const ExpiringCache&) = delete;

  // The value, nullptr when there is none or it has expired. Valid until the next put().
  const Value* find(std::string_view key, SteadyTime now) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    if (found->second->expires <= now) {
      drop(found->second);
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  void put(std::string key, Value value, SteadyTime expires) {
    if (const auto found = index_.find(key); found != index_.end()) drop(found->second);
    if (entries_.size() >= most_) drop(std::prev(entries_.end()));
    entries_.push_front(Entry{std::move(key), std::move(value), expires});
    index_.emplace(entries_.front().key, entries_.begin());
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    Value value;
    SteadyTime expires;
  };
  using Position = typename std::list<Entry>::iterator;

  void drop(Position entry) {
    index_.erase(entry->key);
    entries_.erase(entry);
  }

  std::size_t most_;
  std::list<Entry> entries_;                              // newest use first
  std::unordered_map<std::string_view, Position> index_;  // keys are views of the entries' own
};

}  // namespace loadline::apiserver
