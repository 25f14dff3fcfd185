// A JSON text as a tree of the members that somebody asked for, and no others: what is not wanted
// is checked, but never stored. Pure; bounded in depth and in the values held at one time.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::kube {

struct JsonMember;

struct JsonValue {
  enum class Kind { kNull, kBool, kInteger, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool flag = false;                // kBool
  std::int64_t integer = 0;         // kInteger
  std::string text;                 // kText
  std::vector<JsonValue> items;     // kList
  std::vector<JsonMember> members;  // kObject, in the order of the text

  // The last member of that name, as a decoder into a struct has it; null: none, or no object.
  const JsonValue* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// What a reader wants of a document.
struct JsonWanted {
  std::span<const std::string_view> keys;  // sorted; members of other names are left out, but
  std::span<const std::string_view>
      free_keys;  //   members whose value keeps all of its own members
};

inline constexpr std::size_t kMostJsonDepth = 64;
inline constexpr std::size_t kMostJsonValues = 20'000;

// The document, which must be an object. With on_item, each element of the list "items" at its top
// is handed over when it is read and then forgotten: the list stays empty, and the bound on values
// holds for each element. kBadRequest says where.
Result<JsonValue> read_json(std::string_view text, const JsonWanted& wanted,
                            const std::function<void(const JsonValue&)>& on_item = nullptr);

}  // namespace loadline::kube
