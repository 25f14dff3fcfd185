#include "kube/label_syntax.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace loadline::kube {
namespace {

constexpr std::size_t kMostNameLength = 63;
constexpr std::size_t kMostPrefixLength = 253;

constexpr std::string_view kNamePattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character";

constexpr std::string_view kSubdomainPattern =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character";

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_subdomain(std::string_view text) {
  const auto is_edge = [](char c) { return is_alphanumeric(c) && !(c >= 'A' && c <= 'Z'); };
  for (;;) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || !is_edge(part.front()) || !is_edge(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [&](char c) { return is_edge(c) || c == '-'; })) {
      return false;
    }
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string length_rule(std::size_t most) {
  return "must be no more than " + std::to_string(most) + " bytes";
}

// The rule with examples and pattern, laid out as a Kubernetes API server prints it (with
// its commas).
std::string spelled_out(std::string_view rule, std::initializer_list<std::string_view> examples,
                        std::string_view pattern) {
  std::string text(rule);
  text += " (e.g. ";
  const char* between = "";
  for (const std::string_view example : examples) {
    text.append(between).append("'").append(example).append("', ");
    between = " or ";
  }
  return text.append("regex used for validation is '").append(pattern).append("')");
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += "; ";
    text += part;
  }
  return text;
}

std::string name_rule() {
  return spelled_out(kNameRule, {"MyName", "my.name", "123-abc"}, kNamePattern);
}

void check_prefix(std::string_view prefix, std::vector<std::string>& problems) {
  if (prefix.empty()) {
    problems.emplace_back("prefix part must be non-empty");
    return;
  }
  if (prefix.size() > kMostPrefixLength) {
    problems.push_back("prefix part " + length_rule(kMostPrefixLength));
  }
  if (is_subdomain(prefix)) return;
  problems.push_back("prefix part " +
                     spelled_out(kSubdomainRule, {"example.com"}, kSubdomainPattern));
}

}  // namespace

std::string label_key_problem(std::string_view key) {
  const std::size_t slash = key.find('/');
  const bool has_prefix = slash != std::string_view::npos;
  const std::string_view name = has_prefix ? key.substr(slash + 1) : key;
  if (name.find('/') != std::string_view::npos) {
    return "a valid label key " + name_rule() +
           " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  }
  std::vector<std::string> problems;
  if (has_prefix) check_prefix(key.substr(0, slash), problems);
  if (name.empty()) problems.emplace_back("name part must be non-empty");
  if (name.size() > kMostNameLength) {
    problems.push_back("name part " + length_rule(kMostNameLength));
  }
  if (!is_name(name)) problems.push_back("name part " + name_rule());
  return joined(problems);
}

std::string label_value_problem(std::string_view value) {
  std::vector<std::string> problems;
  if (value.size() > kMostNameLength) problems.push_back(length_rule(kMostNameLength));
  if (!value.empty() && !is_name(value)) {
    problems.push_back(
        spelled_out("a valid label must be an empty string or " + std::string(kNameRule.substr(5)),
                    {"MyValue", "my_value", "12345"}, "(" + std::string(kNamePattern) + ")?"));
  }
  return joined(problems);
}

}  // namespace loadline::kube
