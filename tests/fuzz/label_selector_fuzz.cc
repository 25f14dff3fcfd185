// Label selectors: what is accepted prints to a text that means the same, and matches as a plain
// reading of its requirements says. The labels it is tried on are made of its own keys and values,
// and of neighbours of both.
#include "kube/label_selector.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

namespace {

using namespace loadline::kube;

void check(bool holds) {
  if (!holds) std::abort();
}

// Numbers of at most 18 digits; others are left to the unit tests.
bool plain_number(const std::string& text) {
  return !text.empty() && text.size() <= 18 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

bool holds(const SelectorRequirement& r, const Labels& labels) {
  const bool exists = labels.count(r.key) == 1;
  const std::string value = exists ? labels.at(r.key) : "";
  bool listed = false;
  for (const auto& one : r.values) listed = listed || one == value;
  switch (r.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
      return exists && listed;
    case SelectorOperator::kNotIn:
    case SelectorOperator::kNotEquals:
      return !(exists && listed);
    case SelectorOperator::kExists:
      return exists;
    case SelectorOperator::kDoesNotExist:
      return !exists;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      break;
  }
  check(r.values.size() == 1);
  if (!plain_number(value)) return false;
  const bool more = std::stoull(value) > std::stoull(r.values[0]);
  const bool less = std::stoull(value) < std::stoull(r.values[0]);
  return r.op == SelectorOperator::kGreaterThan ? more : less;
}

Labels make_labels(const LabelSelector& selector, std::mt19937& random) {
  Labels labels;
  for (const auto& r : selector.requirements()) {
    std::string value = r.values.empty() ? "" : r.values[random() % r.values.size()];
    switch (random() % 5) {
      case 0:
        continue;
      case 1:
        value += '0';
        break;
      case 2:
        value = std::to_string(random() % 100);
        break;
      default:
        break;
    }
    labels[random() % 8 == 0 ? r.key + "x" : r.key] = value;
  }
  return labels;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto selector = LabelSelector::parse(text);
  if (!selector) {
    check(!selector.error().message.empty());
    return 0;
  }
  const std::string printed = selector->to_string();
  const auto again = LabelSelector::parse(printed);
  // Printing never makes a text longer than the blanks it needs around "in" and "notin".
  if (!again) check(printed.size() > (16u << 10));
  if (!again) return 0;
  check(again->to_string() == printed);
  check(again->requirements().size() == selector->requirements().size());

  std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string>()(text)));
  for (int round = 0; round < 8; ++round) {
    const Labels labels = make_labels(*selector, random);
    bool want = true;
    bool odd = false;
    for (const auto& r : selector->requirements()) {
      want = want && holds(r, labels);
      const bool compares =
          r.op == SelectorOperator::kGreaterThan || r.op == SelectorOperator::kLessThan;
      const auto label = labels.find(r.key);
      odd = odd || (compares && (!plain_number(r.values[0]) ||
                                 (label != labels.end() && label->second.size() > 18)));
    }
    check(again->matches(labels) == selector->matches(labels));
    check(odd || selector->matches(labels) == want);
  }
  return 0;
}
