#include "apiserver/list_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <vector>

namespace loadline::apiserver {
namespace {

struct FieldTerm {
  std::string field, value;
  bool equal = true;
};

Error malformed(std::string_view selector, std::string_view term) {
  return Error(Code::kBadRequest,
               fmt::format("invalid selector: '{}'; can't understand '{}'", selector, term));
}

// At commas that no backslash escapes.
std::vector<std::string_view> split_terms(std::string_view selector) {
  std::vector<std::string_view> terms;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= selector.size(); ++i) {
    if (i < selector.size() && selector[i] == '\\') {
      ++i;
    } else if (i == selector.size() || selector[i] == ',') {
      terms.push_back(selector.substr(start, i - start));
      start = i + 1;
    }
  }
  if (start < selector.size())
    terms.push_back(selector.substr(start));  // ended by a lone backslash
  return terms;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || (text[i] != '\\' && text[i] != ',' && text[i] != '='))
        return std::nullopt;
    } else if (text[i] == ',' || text[i] == '=') {
      return std::nullopt;
    }
    out += text[i];
  }
  return out;
}

std::optional<FieldTerm> parse_term(std::string_view term) {
  std::size_t i = 0;
  while (i < term.size() && term[i] != '=' && !term.substr(i).starts_with("!="))
    i += term[i] == '\\' ? 2 : 1;
  if (i >= term.size()) return std::nullopt;
  const std::string_view rest = term.substr(i);
  const std::size_t length = rest.starts_with("!=") || rest.starts_with("==") ? 2 : 1;
  std::optional<std::string> value = unescape(rest.substr(length));
  if (!value) return std::nullopt;
  return FieldTerm{std::string(term.substr(0, i)), std::move(*value), rest[0] == '='};
}

Status check_integer(const QueryParameters& query, std::string_view name) {
  const std::string* text = find_parameter(query, name);
  if (text == nullptr) return {};
  std::string_view digits = *text;
  if (digits.size() > 1 && digits[0] == '+') digits.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool range = error == std::errc::result_out_of_range;
  if (error == std::errc() && end == digits.data() + digits.size()) return {};
  return Error(Code::kBadRequest, fmt::format("strconv.ParseInt: parsing \"{}\": {}", *text,
                                              range ? "value out of range" : "invalid syntax"));
}

Result<kube::LabelSelector> selector_parameter(const QueryParameters& query,
                                               std::string_view name) {
  const std::string* text = find_parameter(query, name);
  if (text == nullptr) return kube::LabelSelector();
  return kube::LabelSelector::parse(*text);
}

Status check_field_selector(const RequestInfo& info) {
  const std::string* selector = find_parameter(info.query, "fieldSelector");
  if (selector == nullptr || selector->empty()) return {};
  const Result<std::optional<std::string>> name = name_in_field_selector(*selector);
  if (!name) return name.error();
  if (*name && **name == info.name) return {};
  return Error(Code::kBadRequest, "fieldSelector metadata.name doesn't match requested name");
}

}  // namespace

Result<std::optional<std::string>> name_in_field_selector(std::string_view selector) {
  std::optional<std::string> name;
  for (const std::string_view term : split_terms(selector)) {
    if (term.empty()) continue;
    std::optional<FieldTerm> parsed = parse_term(term);
    if (!parsed) return malformed(selector, term);
    if (parsed->field == "metadata.name" && parsed->equal && !name) name = std::move(parsed->value);
  }
  return name;
}

Status check_numeric_options(const QueryParameters& query) {
  for (const std::string_view name : {"limit", "timeoutSeconds"}) {
    if (Status status = check_integer(query, name); !status) return status;
  }
  return {};
}

Result<ListOptions> parse_list_options(const RequestInfo& info) {
  if (Status status = check_numeric_options(info.query); !status) return status.error();
  if (Status status = check_field_selector(info); !status) return status.error();
  Result<kube::LabelSelector> labels = selector_parameter(info.query, "labelSelector");
  if (!labels) return labels.error();
  Result<kube::LabelSelector> metric_labels = selector_parameter(info.query, "metricLabelSelector");
  if (!metric_labels) return metric_labels.error();
  ListOptions options;
  options.labels = std::move(*labels);
  options.metric_labels = std::move(*metric_labels);
  return options;
}

}  // namespace loadline::apiserver
