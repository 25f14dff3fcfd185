#include "apiserver/negotiation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace loadline::apiserver {
namespace {

constexpr std::size_t kMostClauses = 64;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Takes the part before the separator off the text.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trim(part);
}

double parse_quality(std::string_view text) {
  double quality = 1.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quality);
  const bool whole =
      error == std::errc() && end == text.data() + text.size() && std::isfinite(quality);
  return whole ? std::clamp(quality, 0.0, 1.0) : 1.0;
}

std::optional<AcceptClause> parse_clause(std::string_view text) {
  AcceptClause clause;
  const std::string range = lower_case(next_part(text, ';'));
  const std::size_t slash = range.find('/');
  if (range == "*") {
    clause.type = clause.subtype = "*";
  } else if (slash == std::string::npos || slash == 0 || slash + 1 == range.size()) {
    return std::nullopt;
  } else {
    clause.type = range.substr(0, slash);
    clause.subtype = range.substr(slash + 1);
    if (clause.type == "*" && clause.subtype != "*") return std::nullopt;
  }
  while (!text.empty()) {
    std::string_view parameter = next_part(text, ';');
    const std::string name = lower_case(next_part(parameter, '='));
    if (name == "q") {
      clause.quality = parse_quality(parameter);
    } else if (!name.empty()) {
      clause.parameters.emplace_back(name, std::string(trim(parameter)));
    }
  }
  return clause;
}

bool asks_for_another_object(const AcceptClause& clause) {
  return std::any_of(clause.parameters.begin(), clause.parameters.end(), [](const auto& parameter) {
    return parameter.first == "as" || parameter.first == "g" || parameter.first == "v";
  });
}

}  // namespace

std::vector<AcceptClause> parse_accept(std::string_view accept) {
  std::vector<AcceptClause> clauses;
  while (!accept.empty() && clauses.size() < kMostClauses) {
    std::optional<AcceptClause> clause = parse_clause(next_part(accept, ','));
    if (clause) clauses.push_back(std::move(*clause));
  }
  std::stable_sort(
      clauses.begin(), clauses.end(),
      [](const AcceptClause& a, const AcceptClause& b) { return a.quality > b.quality; });
  return clauses;
}

std::string accept_header(const net::Headers& headers) {
  std::string accept;
  for (const auto& [name, value] : headers) {
    if (!net::header_name_equals(name, "Accept")) continue;
    if (!accept.empty()) accept += ',';
    accept += value;
  }
  return accept;
}

std::optional<MediaType> negotiate(std::string_view accept) {
  if (trim(accept).empty()) return MediaType::kJson;
  for (const AcceptClause& clause : parse_accept(accept)) {
    if (!asks_for_another_object(clause) && clause_takes(clause, "application", "json"))
      return MediaType::kJson;
  }
  return std::nullopt;
}

std::string_view clause_parameter(const AcceptClause& clause, std::string_view name) {
  for (const auto& [key, value] : clause.parameters) {
    if (key == name) return value;
  }
  return {};
}

bool clause_takes(const AcceptClause& clause, std::string_view type, std::string_view subtype) {
  return (clause.type == "*" || clause.type == type) &&
         (clause.subtype == "*" || clause.subtype == subtype);
}

bool wants_pretty(const std::string* pretty_parameter, const net::Headers& headers) {
  if (pretty_parameter != nullptr && !pretty_parameter->empty()) {
    constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "true", "TRUE", "True"};
    return std::find(kTrue.begin(), kTrue.end(), *pretty_parameter) != kTrue.end();
  }
  const std::string* agent = net::find_header(headers, "User-Agent");
  return agent != nullptr && (agent->starts_with("curl") || agent->starts_with("Wget") ||
                              agent->starts_with("Mozilla/5.0"));
}

}  // namespace loadline::apiserver
