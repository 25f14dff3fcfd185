// Kubernetes label selectors, the string form: "app=web,tier in (a,b),!x,n>5". The full grammar,
// right or an error. Source: apimachinery pkg/labels. Immutable value.
#pragma once

#include "base/result.h"
#include "kube/pod.h"

#include <string>
#include <string_view>
#include <vector>

namespace loadline::kube {

enum class SelectorOperator {
  kIn,
  kNotIn,
  kEquals,
  kDoubleEquals,
  kNotEquals,
  kExists,
  kDoesNotExist,
  kGreaterThan,
  kLessThan
};

struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kExists;
  std::vector<std::string> values;  // sorted, each once
};

class LabelSelector {
 public:
  LabelSelector() = default;  // selects everything

  // Errors are kBadRequest with the text that a Kubernetes API server gives.
  static Result<LabelSelector> parse(std::string_view text);

  bool matches(const Labels& labels) const;
  bool empty() const { return requirements_.empty(); }
  const std::vector<SelectorRequirement>& requirements() const { return requirements_; }
  std::string to_string() const;  // canonical: sorted by key

 private:
  std::vector<SelectorRequirement> requirements_;
};

}  // namespace loadline::kube
