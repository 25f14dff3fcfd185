// YAML (and so JSON) as a tree, for configuration that comes from outside: bounded in nodes and
// depth, an alias is a pointer to what it stands for (never a copy, never to itself), a key stands
// once in its map. Immutable value.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace loadline::kube {

struct YamlNode;
using YamlNodePtr = std::shared_ptr<const YamlNode>;

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  std::string scalar;  // as written, whatever its type
  std::vector<YamlNodePtr> items;
  std::map<std::string, YamlNodePtr, std::less<>> fields;

  // The field of a map; nullptr where it is missing or null, or this is no map.
  const YamlNode* find(std::string_view key) const;
};

struct YamlLimits {
  std::size_t nodes = 50'000;
  std::size_t depth = 32;
};

// The first document of the text; an empty text is a null node. Errors are kBadRequest and name the
// line.
Result<YamlNodePtr> parse_yaml(const std::string& text, const YamlLimits& limits = {});

}  // namespace loadline::kube
