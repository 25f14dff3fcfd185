#include "kube/label_selector.h"

#include "kube/label_syntax.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace loadline::kube {
namespace {

// Far above what fits a request line of the HPA; parsing is linear.
constexpr std::size_t kMostSelectorBytes = 16u << 10;
// In double quotes, as Go's %q; bytes beyond ASCII stay as they are.
std::string quoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  static constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v\"\\";
  static constexpr std::string_view kLetters = "abfnrtv\"\\";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t at = kEscaped.find(c); at != std::string_view::npos) {
      out.append("\\").push_back(kLetters[at]);
    } else if (byte < 0x20 || byte == 0x7f) {
      out.append("\\x").push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += between;
    text += part;
  }
  return text;
}

std::string invalid(const std::string& field, std::string_view value, const std::string& problem) {
  return field + ": Invalid value: " + quoted(value) + ": " + problem;
}

// As Go reads base 10: digits after an optional sign, in 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Token {
  enum class Kind { kEnd, kWord, kSymbol };
  Kind kind = Kind::kEnd;
  std::string_view text;

  bool is_word() const { return kind == Kind::kWord; }
  bool is_end() const { return kind == Kind::kEnd; }
  bool is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool starts_requirement() const { return is_word() || is("!"); }
};

// Words are all that stands between blanks and symbols; whether one is legal is decided by the
// place it is found in.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { advance(); }

  const Token& peek() const { return next_; }
  Token take() {
    const Token token = next_;
    advance();
    return token;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_symbol(char c) {
    return std::string_view("=!(),><").find(c) != std::string_view::npos;
  }

  void advance() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    std::size_t length = 0;
    if (rest_.empty()) {
      next_.kind = Token::Kind::kEnd;
    } else if (is_symbol(rest_.front())) {
      next_.kind = Token::Kind::kSymbol;
      const std::string_view two = rest_.substr(0, 2);
      length = two == "==" || two == "!=" ? 2 : 1;
    } else {
      next_.kind = Token::Kind::kWord;
      while (length < rest_.size() && !is_blank(rest_[length]) && !is_symbol(rest_[length]))
        ++length;
    }
    next_.text = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  std::string_view rest_;
  Token next_;
};

Error found(const Token& token, std::string_view expected) {
  return Error(Code::kBadRequest,
               "found '" + std::string(token.text) + "'" + std::string(expected));
}

std::optional<SelectorOperator> binary_operator(const Token& token) {
  if (token.is_word()) {
    if (token.text == "in") return SelectorOperator::kIn;
    if (token.text == "notin") return SelectorOperator::kNotIn;
  } else {
    if (token.is("=")) return SelectorOperator::kEquals;
    if (token.is("==")) return SelectorOperator::kDoubleEquals;
    if (token.is("!=")) return SelectorOperator::kNotEquals;
    if (token.is(">")) return SelectorOperator::kGreaterThan;
    if (token.is("<")) return SelectorOperator::kLessThan;
  }
  return std::nullopt;
}

using Values = std::set<std::string>;

// "(a,,b)": an empty place is the empty value.
Result<Values> parse_value_list(Lexer& lexer) {
  if (const Token open = lexer.take(); !open.is("(")) return found(open, " expected: '('");
  Values values;
  const Token first = lexer.peek();
  if (!first.is_word() && !first.is(",") && !first.is(")")) {
    return found(first, ", expected: ',', ')' or identifier");
  }
  bool after_word = false;
  for (;;) {
    const Token token = lexer.take();
    if (token.is(")")) {
      if (!after_word) values.emplace();
      return values;
    }
    if (token.is_word()) {
      if (after_word) return found(token, ", expected: ',' or ')'");
      values.emplace(token.text);
      after_word = true;
    } else if (token.is(",")) {
      if (!after_word) values.emplace();
      after_word = false;
    } else {
      return found(token, after_word ? ", expected: ',' or ')'" : ", expected: ',', or identifier");
    }
  }
}

Result<Values> parse_exact_value(Lexer& lexer) {
  if (lexer.peek().is_end() || lexer.peek().is(",")) return Values{""};
  const Token token = lexer.take();
  if (!token.is_word()) return found(token, ", expected: identifier");
  return Values{std::string(token.text)};
}

Status check_values(const SelectorRequirement& requirement) {
  std::vector<std::string> problems;
  if (requirement.op == SelectorOperator::kGreaterThan ||
      requirement.op == SelectorOperator::kLessThan) {
    if (const std::string& bound = requirement.values.front(); !parse_integer(bound)) {
      problems.push_back(
          invalid("values[0]", bound, "for 'Gt', 'Lt' operators, the value must be an integer"));
    }
  }
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    const std::string& value = requirement.values[i];
    if (const std::string problem = label_value_problem(value); !problem.empty()) {
      problems.push_back(
          invalid("values[" + std::to_string(i) + "][" + requirement.key + "]", value, problem));
    }
  }
  if (problems.empty()) return {};
  const std::string all = joined(problems, ", ");
  return Error(Code::kBadRequest, problems.size() == 1 ? all : "[" + all + "]");
}

Result<SelectorRequirement> parse_requirement(Lexer& lexer) {
  SelectorRequirement requirement;
  Token token = lexer.take();
  const bool negated = token.is("!");
  if (negated) token = lexer.take();
  if (!token.is_word()) return found(token, ", expected: identifier");
  if (const std::string problem = label_key_problem(token.text); !problem.empty()) {
    return Error(Code::kBadRequest, invalid("<nil>", token.text, problem));
  }
  requirement.key = token.text;
  if (negated || lexer.peek().is_end() || lexer.peek().is(",")) {
    requirement.op = negated ? SelectorOperator::kDoesNotExist : SelectorOperator::kExists;
    return requirement;
  }

  token = lexer.take();
  const auto op = binary_operator(token);
  if (!op) return found(token, ", expected: in, notin, =, ==, !=, gt, lt");
  requirement.op = *op;
  const bool is_list = op == SelectorOperator::kIn || op == SelectorOperator::kNotIn;
  auto values = is_list ? parse_value_list(lexer) : parse_exact_value(lexer);
  if (!values) return std::move(values).error();
  requirement.values.assign(values->begin(), values->end());
  if (auto status = check_values(requirement); !status) return std::move(status).error();
  return requirement;
}

bool matches_one(const SelectorRequirement& requirement, const Labels& labels) {
  const auto label = labels.find(requirement.key);
  const bool exists = label != labels.end();
  const auto listed = [&] {
    return std::binary_search(requirement.values.begin(), requirement.values.end(), label->second);
  };
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kEquals:
    case SelectorOperator::kDoubleEquals:
      return exists && listed();
    case SelectorOperator::kNotIn:
    case SelectorOperator::kNotEquals:
      return !exists || !listed();
    case SelectorOperator::kExists:
      return exists;
    case SelectorOperator::kDoesNotExist:
      return !exists;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan: {
      const auto value = exists ? parse_integer(label->second) : std::nullopt;
      const auto bound = parse_integer(requirement.values.front());
      if (!value || !bound) return false;
      return requirement.op == SelectorOperator::kGreaterThan ? *value > *bound : *value < *bound;
    }
  }
  return false;
}

std::string print(const SelectorRequirement& requirement) {
  const std::string values = joined(requirement.values, ",");
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return requirement.key + " in (" + values + ")";
    case SelectorOperator::kNotIn:
      return requirement.key + " notin (" + values + ")";
    case SelectorOperator::kEquals:
      return requirement.key + "=" + values;
    case SelectorOperator::kDoubleEquals:
      return requirement.key + "==" + values;
    case SelectorOperator::kNotEquals:
      return requirement.key + "!=" + values;
    case SelectorOperator::kGreaterThan:
      return requirement.key + ">" + values;
    case SelectorOperator::kLessThan:
      return requirement.key + "<" + values;
    case SelectorOperator::kDoesNotExist:
      return "!" + requirement.key;
    case SelectorOperator::kExists:
      break;
  }
  return requirement.key;
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  if (text.size() > kMostSelectorBytes) {
    return Error(Code::kBadRequest,
                 "the selector is longer than " + std::to_string(kMostSelectorBytes) + " bytes");
  }
  Lexer lexer(text);
  LabelSelector selector;
  if (lexer.peek().is_end()) return selector;
  if (!lexer.peek().starts_requirement()) {
    return found(lexer.peek(), ", expected: !, identifier, or 'end of string'");
  }
  for (;;) {
    auto requirement = parse_requirement(lexer);
    if (!requirement) {
      return with_context("unable to parse requirement", std::move(requirement).error());
    }
    selector.requirements_.push_back(std::move(*requirement));
    const Token token = lexer.take();
    if (token.is_end()) break;
    if (!token.is(",")) return found(token, ", expected: ',' or 'end of string'");
    if (!lexer.peek().starts_requirement()) {
      return found(lexer.peek(), ", expected: identifier after ','");
    }
  }
  // Stable: several requirements of one key stay in the order in which they were written.
  std::stable_sort(selector.requirements_.begin(), selector.requirements_.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
  return selector;
}

bool LabelSelector::matches(const Labels& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const auto& requirement) { return matches_one(requirement, labels); });
}

std::string LabelSelector::to_string() const {
  std::vector<std::string> parts;
  parts.reserve(requirements_.size());
  for (const auto& requirement : requirements_) parts.push_back(print(requirement));
  return joined(parts, ",");
}

}  // namespace loadline::kube
