#include "kube/pod_yaml.h"

#include "base/log.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace loadline::kube {
namespace {

constexpr std::size_t kMostDepth = 64;
constexpr std::size_t kMostDocuments = 10'000;
constexpr std::size_t kMostLineBytes = 1u << 20;  // the annotations of a pod are 256 KiB at most
constexpr std::size_t kMostOpenBrackets = 1'000;  // brackets in texts count, too

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?: what is a number to JSON and YAML alike; others
// stay text.
// So do those that a double might not hold.
bool is_json_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 24, kMostExponentDigits = 2;
  if (text.size() > kMostDigits) return false;
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  const auto exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    auto digits = text.substr(exponent + 1);
    if (!digits.empty() && (digits.front() == '+' || digits.front() == '-'))
      digits.remove_prefix(1);
    if (!all_digits(digits) || digits.size() > kMostExponentDigits) return false;
    text = text.substr(0, exponent);
  }
  if (const auto point = text.find('.'); point != std::string_view::npos) {
    if (!all_digits(text.substr(point + 1))) return false;
    text = text.substr(0, point);
  }
  return all_digits(text) && (text.size() == 1 || text.front() != '0');
}

std::string plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return "null";
  if (text == "true" || text == "True" || text == "TRUE") return "true";
  if (text == "false" || text == "False" || text == "FALSE") return "false";
  return is_json_number(text) ? text : json_quote(text);
}

class JsonWriter final : public YAML::EventHandler {
 public:
  std::string take() { return std::move(out_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    no_anchor(mark, anchor);
    value(mark, "null", "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { no_anchor(mark, 1); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    no_anchor(mark, anchor);
    // "?" is the tag of a plain scalar, "!" that of a quoted one.
    value(mark, tag == "?" || tag.empty() ? plain_scalar(text) : json_quote(text), text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Level::kSequence, '[');
  }
  void OnSequenceEnd() override { close(']'); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Level::kMapKey, '{');
  }
  void OnMapEnd() override { close('}'); }

 private:
  enum class Level { kSequence, kMapKey, kMapValue };

  static void no_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0)
      throw YAML::ParserException(mark, "anchors and aliases are not taken: write the value out");
  }

  void value(const YAML::Mark& mark, const std::string& json, const std::string& as_key) {
    separate(mark);
    out_ += !levels_.empty() && levels_.back() == Level::kMapKey ? json_quote(as_key) : json;
    turn();
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Level level, char bracket) {
    no_anchor(mark, anchor);
    if (levels_.size() >= kMostDepth) throw YAML::ParserException(mark, "nested too deep");
    if (!levels_.empty() && levels_.back() == Level::kMapKey) {
      throw YAML::ParserException(mark, "a key must be a plain text");
    }
    separate(mark);
    out_ += bracket;
    levels_.push_back(level);
  }

  void close(char bracket) {
    out_ += bracket;
    levels_.pop_back();
    turn();
  }

  void separate(const YAML::Mark&) {
    if (levels_.empty()) return;
    if (levels_.back() == Level::kMapValue) {
      out_ += ':';
    } else if (out_.back() != '[' && out_.back() != '{') {
      out_ += ',';
    }
  }

  // After a key comes its value, after that the next key.
  void turn() {
    if (levels_.empty()) return;
    if (levels_.back() == Level::kMapKey) {
      levels_.back() = Level::kMapValue;
    } else if (levels_.back() == Level::kMapValue) {
      levels_.back() = Level::kMapKey;
    }
  }

  std::string out_;
  std::vector<Level> levels_;
};

// What the parser would suffer from before anybody can object. Control characters: it takes some
// for the end of the text, and then finds empty documents for ever. A flow collection that may yet
// be a key: it keeps the tokens of the whole line.
Status check_lines(const std::string& yaml) {
  std::size_t line = 1, length = 0, open = 0;
  for (const char c : yaml) {
    if (c == '\n') {
      ++line;
      length = open = 0;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' && c != '\r' && c != '\t') {
      return Error(Code::kBadRequest,
                   fmt::format("line {}: a control character (0x{:02x}) in YAML", line, byte));
    }
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (++length > kMostLineBytes || open > kMostOpenBrackets) {
      return Error(Code::kBadRequest,
                   fmt::format("line {}: too long, or too many open brackets", line));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> yaml_to_json(const std::string& yaml) {
  if (const Status good = check_lines(yaml); !good) return good.error();
  std::vector<std::string> documents;
  std::istringstream in(yaml);
  try {
    YAML::Parser parser(in);
    for (std::size_t count = 0; count < kMostDocuments; ++count) {
      JsonWriter writer;
      if (!parser.HandleNextDocument(writer)) return documents;
      std::string json = writer.take();
      if (!json.empty() && json != "null") documents.push_back(std::move(json));
    }
    return Error(Code::kBadRequest, fmt::format("more than {} YAML documents", kMostDocuments));
  } catch (const YAML::Exception& error) {
    return Error(Code::kBadRequest,
                 fmt::format("line {}: {:.200}", error.mark.line + 1, error.msg));
  }
}

}  // namespace loadline::kube
