#include "tests/support/reference_exposition.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

namespace loadline::testing {
namespace {

constexpr std::size_t kMostLineBytes = 65536;
constexpr int kMostLabels = 64;

bool blank(char c) { return c == ' ' || c == '\t'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// [+-] (inf | infinity | nan | digits with at most one point and perhaps an exponent), within the
// range of double.
std::optional<double> number(const std::string& token) {
  std::string rest = token;
  double sign = 1;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    if (rest[0] == '-') sign = -1;
    rest.erase(0, 1);
  }
  const std::string word = lower(rest);
  if (word == "inf" || word == "infinity") return sign * HUGE_VAL;
  if (word == "nan") return std::nan("");
  std::size_t i = 0;
  int digits = 0;
  bool zero = true;
  const auto take_digits = [&] {
    for (; i < rest.size() && digit(rest[i]); ++i, ++digits) zero = zero && rest[i] == '0';
  };
  take_digits();
  if (i < rest.size() && rest[i] == '.') {
    ++i;
    take_digits();
  }
  if (digits == 0) return std::nullopt;
  if (i < rest.size() && (rest[i] == 'e' || rest[i] == 'E')) {
    ++i;
    if (i < rest.size() && (rest[i] == '+' || rest[i] == '-')) ++i;
    const std::size_t first = i;
    while (i < rest.size() && digit(rest[i])) ++i;
    if (i == first) return std::nullopt;
  }
  if (i != rest.size()) return std::nullopt;
  const double value = std::strtod(rest.c_str(), nullptr);  // tests run in the C locale
  if (std::isinf(value) || (value == 0 && !zero)) return std::nullopt;
  return sign * value;
}

std::optional<std::int64_t> seconds(const std::string& token) {
  const auto value = number(token);
  if (!value || std::isnan(*value) || *value <= -9e12 || *value >= 9e12) return std::nullopt;
  return std::llround(*value * 1000);
}

std::optional<std::int64_t> timestamp(const std::string& token, bool open_metrics) {
  if (open_metrics || token.find('.') != std::string::npos) return seconds(token);
  for (std::size_t i = token[0] == '-' ? 1 : 0; i < token.size(); ++i) {
    if (!digit(token[i])) return std::nullopt;
  }
  if (token == "-") return std::nullopt;
  errno = 0;
  const long long ms = std::strtoll(token.c_str(), nullptr, 10);
  if (errno != 0) return std::nullopt;
  return ms;
}

// UTF-8 decoded by arithmetic: shortest form, no surrogates, at most U+10FFFF, no NUL.
bool good_text(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = static_cast<unsigned char>(text[i++]);
    int more = 0;
    unsigned code = first;
    unsigned least = 1;
    if (first >= 0xf0) {
      if (first > 0xf7) return false;
      more = 3, code = first & 0x07, least = 0x10000;
    } else if (first >= 0xe0) {
      more = 2, code = first & 0x0f, least = 0x800;
    } else if (first >= 0xc0) {
      more = 1, code = first & 0x1f, least = 0x80;
    } else if (first >= 0x80) {
      return false;
    }
    for (; more > 0; --more) {
      if (i == text.size()) return false;
      const unsigned next = static_cast<unsigned char>(text[i++]);
      if (next < 0x80 || next > 0xbf) return false;
      code = code << 6 | (next & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
  }
  return true;
}

// Reads one line from left to right; every step says whether it could.
class Line {
 public:
  explicit Line(std::string text) : text_(std::move(text)) {}

  bool at_end() const { return i_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[i_]; }
  bool blanks() {
    const std::size_t before = i_;
    while (!at_end() && blank(text_[i_])) ++i_;
    return i_ != before;
  }
  bool take(char c) {
    if (at_end() || text_[i_] != c) return false;
    ++i_;
    return true;
  }
  std::string word() {
    std::string out;
    while (!at_end() && !blank(text_[i_])) out += text_[i_++];
    return out;
  }
  std::string metric_name() { return identifier(true); }

  bool quoted(std::string& out) {
    out.clear();
    if (!take('"')) return false;
    while (!at_end() && text_[i_] != '"') {
      char c = text_[i_++];
      if (c == '\\') {
        if (at_end()) return false;
        const char escaped = text_[i_++];
        if (escaped == 'n') {
          c = '\n';
        } else if (escaped == '"' || escaped == '\\') {
          c = escaped;
        } else {
          out += '\\';
          c = escaped;
        }
      }
      out += c;
    }
    return take('"') && good_text(out);
  }

  // `name` null: no metric name may stand in the braces.
  bool braces(std::string* name, std::map<std::string, std::string>& labels, bool unique) {
    if (!take('{')) return false;
    int count = 0;
    while (true) {
      blanks();
      if (take('}')) return true;
      std::string key;
      const bool is_quoted = peek() == '"';
      if (is_quoted ? !quoted(key) : (key = identifier(false)).empty()) return false;
      if (key.empty()) return false;
      blanks();
      if (take('=')) {
        std::string value;
        blanks();
        if (!quoted(value) || ++count > kMostLabels) return false;
        if (!labels.emplace(key, value).second && unique) return false;
        blanks();
      } else if (is_quoted && name != nullptr && name->empty()) {
        *name = key;
      } else {
        return false;
      }
      if (take('}')) return true;
      if (!take(',')) return false;
    }
  }

 private:
  std::string identifier(bool colons) {
    std::string out;
    while (!at_end() && (letter(text_[i_]) || (colons && text_[i_] == ':') ||
                         (!out.empty() && digit(text_[i_])))) {
      out += text_[i_++];
    }
    return out;
  }

  std::string text_;
  std::size_t i_ = 0;
};

std::optional<ReferenceSample> sample_line(const std::string& text, bool open_metrics) {
  Line line(text);
  ReferenceSample sample;
  sample.name = line.metric_name();
  const bool parted = line.blanks();
  if (line.peek() == '{') {
    if (!line.braces(sample.name.empty() ? &sample.name : nullptr, sample.labels, true))
      return std::nullopt;
    line.blanks();
  } else if (!parted) {
    return std::nullopt;
  }
  if (sample.name.empty()) return std::nullopt;
  const auto value = number(line.word());
  if (!value) return std::nullopt;
  sample.value = *value;
  line.blanks();
  if (!line.at_end() && line.peek() != '#') {
    sample.timestamp_ms = timestamp(line.word(), open_metrics);
    if (!sample.timestamp_ms) return std::nullopt;
    line.blanks();
  }
  if (line.take('#')) {
    std::map<std::string, std::string> labels;
    line.blanks();
    if (!line.braces(nullptr, labels, false)) return std::nullopt;
    line.blanks();
    if (!number(line.word())) return std::nullopt;
    line.blanks();
    if (!line.at_end() && !seconds(line.word())) return std::nullopt;
    line.blanks();
  }
  if (!line.at_end()) return std::nullopt;
  return sample;
}

std::vector<std::string> lines_of(const std::string& page) {
  std::vector<std::string> lines;
  std::string line;
  for (const char c : page) {
    if (c == '\n') {
      lines.push_back(line);
      line.clear();
    } else {
      line += c;
    }
  }
  lines.push_back(line);
  return lines;
}

bool looks_unlike_metrics(const std::string& page) {
  const std::string head = page.substr(0, 512);
  if (head.find('\0') != std::string::npos) return true;
  for (const char c : head) {
    if (std::string(" \t\r\n\xef\xbb\xbf").find(c) != std::string::npos) continue;
    return c == '<' || c == '[';
  }
  return false;
}

bool ends_with_eof(const std::string& page) {
  for (const char* line_end : {"", "\n", "\r", "\r\n"}) {
    const std::string last = std::string("# EOF") + line_end;
    if (page == last || page.ends_with("\n" + last)) return true;
  }
  return false;
}

using SeriesKey = std::pair<std::string, std::map<std::string, std::string>>;
SeriesKey key_of(const ReferenceSample& sample) {
  SeriesKey key{sample.name, sample.labels};
  std::erase_if(key.second, [](const auto& label) { return label.second.empty(); });
  return key;
}

ReferencePage failed(ReferencePage::Verdict verdict) {
  ReferencePage page;
  page.verdict = verdict;
  return page;
}

}  // namespace

ReferencePage read_exposition(const std::string& page, const std::vector<std::string>& wanted,
                              bool open_metrics) {
  if (looks_unlike_metrics(page)) return failed(ReferencePage::Verdict::kNotMetrics);
  const std::set<std::string> wanted_names(wanted.begin(), wanted.end());
  std::set<SeriesKey> seen;
  ReferencePage out;
  bool any_good = false;
  bool first = true;
  for (std::string line : lines_of(page)) {
    if (line.size() > kMostLineBytes) {
      ++out.refused_lines;
      first = false;
      continue;
    }
    if (first && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    first = false;
    if (line.ends_with('\r')) line.pop_back();
    while (!line.empty() && blank(line[0])) line.erase(0, 1);
    if (line.empty() || line[0] == '#') continue;

    const std::string begins_with = Line(line).metric_name();
    if (any_good && !begins_with.empty() && !wanted_names.contains(begins_with)) {
      ++out.samples_on_page;
      continue;
    }
    const auto sample = sample_line(line, open_metrics);
    if (!sample) {
      ++out.refused_lines;
      continue;
    }
    any_good = true;
    ++out.samples_on_page;
    if (!wanted_names.contains(sample->name)) continue;
    if (seen.insert(key_of(*sample)).second) {
      out.samples.push_back(*sample);
    } else {
      ++out.duplicates;
    }
  }
  if (!any_good && out.refused_lines > 0) return failed(ReferencePage::Verdict::kNotMetrics);
  if (open_metrics && !ends_with_eof(page)) return failed(ReferencePage::Verdict::kCutShort);
  return out;
}

std::vector<std::string> sample_names(const std::string& page) {
  std::vector<std::string> names;
  for (const std::string& text : lines_of(page)) {
    const auto sample = sample_line(text, false);
    if (sample && std::find(names.begin(), names.end(), sample->name) == names.end())
      names.push_back(sample->name);
  }
  return names;
}

}  // namespace loadline::testing
