#include "provider/engine_profile.h"

#include "provider/built_in_profiles.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace loadline::provider {
namespace {

constexpr std::size_t kMostTextBytes = 256u << 10;
constexpr std::size_t kMostEntries = 64;  // of any list or map
constexpr std::size_t kMostStringBytes = 256;

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_label_name(std::string_view s) {
  return !s.empty() && is_alpha(s.front()) &&
         std::all_of(s.begin(), s.end(), [](char c) { return is_alpha(c) || is_digit(c); });
}

// Also what a sample name may begin with.
bool is_sample_name(std::string_view s) {
  return !s.empty() && !is_digit(s.front()) && std::all_of(s.begin(), s.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || c == ':';
  });
}

bool is_engine_name(std::string_view s) {
  return !s.empty() && s.size() <= 32 && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_' || c == '-';
  });
}

bool is_path(std::string_view s) {
  return !s.empty() && s.front() == '/' &&
         std::all_of(s.begin(), s.end(), [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
}

bool is_text(std::string_view s) { return !s.empty(); }

// Reads one profile; the first error is kept and the rest is read into nothing.
class ProfileReader {
 public:
  ProfileReader(std::string_view file, EngineProfile& into) : file_(file), into_(into) {}

  void read(const YAML::Node& root) {
    read_map(root, "", {"schema", "engine", "detect", "roles"},
             {"ports", "path", "model_labels", "foreign_labels", "warnings"});
    if (error) return;
    if (number(root["schema"], "schema", 1, 1'000) != 1) {
      fail(root["schema"], "schema", "this version reads schema 1");
    }
    into_.engine = string(root["engine"], "engine", is_engine_name, "a name of [a-z0-9_-]");
    read_detect(root["detect"]);
    read_ports(root["ports"]);
    if (root["path"])
      into_.path = string(root["path"], "path", is_path, "a path that begins with /");
    into_.model_labels =
        strings(root["model_labels"], "model_labels", is_label_name, "a label name");
    into_.foreign_labels =
        strings(root["foreign_labels"], "foreign_labels", is_label_name, "a label name");
    read_roles(root["roles"]);
    read_warnings(root["warnings"]);
  }

  std::optional<Error> error;

 private:
  void fail(const YAML::Node& node, const std::string& key, const std::string& text) {
    if (error) return;
    const int line = node.IsDefined() ? node.Mark().line + 1 : 0;
    error = Error(Code::kBadRequest,
                  fmt::format("{}:{}: {}{}{}", file_, line, key, key.empty() ? "" : ": ", text));
  }

  // A map with these keys, each once, and no other.
  void read_map(const YAML::Node& node, const std::string& key,
                const std::set<std::string>& required, const std::set<std::string>& optional) {
    if (!node.IsMap()) return fail(node, key, "must be a map");
    if (node.size() > kMostEntries) return fail(node, key, "has too many keys");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (!required.contains(name) && !optional.contains(name)) {
        return fail(entry.first, key, fmt::format("unknown key \"{}\"", name));
      }
      if (!seen.insert(name).second) {
        return fail(entry.first, key, fmt::format("the key \"{}\" stands there twice", name));
      }
    }
    for (const auto& name : required) {
      if (!seen.contains(name))
        return fail(node, key, fmt::format("the key \"{}\" is missing", name));
    }
  }

  // The items of a list that is not empty; none where it is not there or wrong.
  std::vector<YAML::Node> list(const YAML::Node& node, const std::string& key) {
    std::vector<YAML::Node> items;
    if (!node || error) return items;
    if (!node.IsSequence() || node.size() == 0 || node.size() > kMostEntries) {
      fail(node, key, fmt::format("must be a list of 1 to {} entries", kMostEntries));
      return items;
    }
    for (const auto& item : node) items.push_back(item);
    return items;
  }

  template <class Check>
  std::string string(const YAML::Node& node, const std::string& key, Check valid,
                     std::string_view expected) {
    if (error) return {};
    if (!node.IsScalar() || node.Scalar().size() > kMostStringBytes || !valid(node.Scalar())) {
      fail(node, key,
           fmt::format("{}must be {}",
                       node.IsScalar() ? fmt::format("\"{:.64}\" ", node.Scalar()) : "", expected));
      return {};
    }
    return node.Scalar();
  }

  template <class Check>
  std::vector<std::string> strings(const YAML::Node& node, const std::string& key, Check valid,
                                   std::string_view expected) {
    std::vector<std::string> values;
    for (const auto& item : list(node, key)) values.push_back(string(item, key, valid, expected));
    return values;
  }

  int number(const YAML::Node& node, const std::string& key, int low, int high) {
    int value = 0;
    if (error) return value;
    if (!YAML::convert<int>::decode(node, value) || value < low || value > high) {
      fail(node, key, fmt::format("must be a whole number from {} to {}", low, high));
    }
    return value;
  }

  void read_detect(const YAML::Node& node) {
    read_map(node, "detect", {"rank", "prefixes"}, {"names"});
    if (error) return;
    into_.rank = number(node["rank"], "detect.rank", 0, 1'000);
    into_.prefixes = strings(node["prefixes"], "detect.prefixes", is_sample_name,
                             "the beginning of a sample name");
    into_.names = strings(node["names"], "detect.names", is_sample_name, "a sample name");
  }

  void read_ports(const YAML::Node& node) {
    for (const auto& item : list(node, "ports")) {
      into_.ports.push_back(static_cast<std::uint16_t>(number(item, "ports", 1, 65'535)));
    }
  }

  void read_roles(const YAML::Node& node) {
    if (error) return;
    if (!node.IsMap() || node.size() == 0)
      return fail(node, "roles", "must be a map with at least one role");
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const auto role = role_named(name);
      if (!role) return fail(entry.first, "roles", fmt::format("unknown role \"{}\"", name));
      auto& candidates = into_.roles.at(static_cast<std::size_t>(*role));
      const std::string key = "roles." + name;
      if (!candidates.empty()) return fail(entry.first, key, "stands there twice");
      for (const auto& item : list(entry.second, key)) {
        candidates.push_back(candidate(item, fmt::format("{}[{}]", key, candidates.size())));
      }
    }
  }

  Candidate candidate(const YAML::Node& node, const std::string& key) {
    Candidate result;
    if (node.IsMap() && node["sum_of"]) {
      read_map(node, key, {"sum_of"}, {"deprecated"});
      for (const auto& item : list(node["sum_of"], key + ".sum_of")) {
        result.terms.push_back(
            term(item, fmt::format("{}.sum_of[{}]", key, result.terms.size()), {}));
      }
      if (std::all_of(result.terms.begin(), result.terms.end(),
                      [](const SampleTerm& t) { return t.absent == Absent::kZero; })) {
        fail(node, key + ".sum_of",
             "at least one term must not be absent: zero, or nothing would count as 0");
      }
    } else {
      result.terms.push_back(term(node, key, {"deprecated"}));
      if (result.terms.front().absent == Absent::kZero) {
        fail(node, key + ".absent",
             "zero is for the terms of a sum_of: a page without the sample says nothing");
      }
      if (result.terms.front().scale < 0)
        fail(node, key + ".scale", "below 0 is for the terms of a sum_of");
    }
    if (!error && node["deprecated"] &&
        !YAML::convert<bool>::decode(node["deprecated"], result.deprecated)) {
      fail(node["deprecated"], key + ".deprecated", "must be true or false");
    }
    return result;
  }

  SampleTerm term(const YAML::Node& node, const std::string& key, std::set<std::string> more_keys) {
    SampleTerm result;
    more_keys.insert({"keep", "drop", "fold", "max_over", "scale", "absent"});
    read_map(node, key, {"sample"}, more_keys);
    if (error) return result;
    result.sample = string(node["sample"], key + ".sample", is_sample_name, "a sample name");
    read_filters(node["keep"], key + ".keep", true, result.filters);
    read_filters(node["drop"], key + ".drop", false, result.filters);
    result.fold = choice<Fold>(
        node["fold"], key + ".fold",
        {{"sum", Fold::kSum}, {"max", Fold::kMax}, {"max_then_sum", Fold::kMaxThenSum}});
    result.absent = choice<Absent>(node["absent"], key + ".absent",
                                   {{"unknown", Absent::kUnknown},
                                    {"zero_in_family", Absent::kZeroInFamily},
                                    {"zero", Absent::kZero}});
    result.max_over = strings(node["max_over"], key + ".max_over", is_label_name, "a label name");
    if (result.max_over.empty() != (result.fold != Fold::kMaxThenSum)) {
      fail(node, key + ".max_over", "goes with fold: max_then_sum, and only with it");
    }
    if (node["scale"] && (!YAML::convert<double>::decode(node["scale"], result.scale) ||
                          !std::isfinite(result.scale) || result.scale == 0)) {
      fail(node["scale"], key + ".scale", "must be a number that is not 0");
    }
    return result;
  }

  template <class T>
  T choice(const YAML::Node& node, const std::string& key,
           const std::vector<std::pair<std::string, T>>& choices) {
    if (!node || error) return choices.front().second;
    std::string names;
    for (const auto& [name, value] : choices) {
      if (node.IsScalar() && node.Scalar() == name) return value;
      names += (names.empty() ? "" : ", ") + name;
    }
    fail(node, key, "must be one of " + names);
    return choices.front().second;
  }

  void read_filters(const YAML::Node& node, const std::string& key, bool keep,
                    std::vector<LabelFilter>& into) {
    if (!node || error) return;
    if (!node.IsMap() || node.size() == 0)
      return fail(node, key, "must be a map from label names to lists of values");
    for (const auto& entry : node) {
      LabelFilter filter;
      filter.keep = keep;
      filter.label = string(entry.first, key, is_label_name, "a label name");
      const std::string label_key = key + "." + filter.label;
      for (const auto& other : into) {
        if (other.label == filter.label)
          return fail(entry.first, label_key, "the label has a filter already");
      }
      if (entry.second.IsScalar() && entry.second.Scalar() == "*") {
        into.push_back(std::move(filter));
        continue;
      }
      filter.values = strings(entry.second, label_key, is_text, "a label value that is not empty");
      if (std::count(filter.values.begin(), filter.values.end(), "*") > 0) {
        return fail(entry.second, label_key, "any value is written without a list: \"*\"");
      }
      into.push_back(std::move(filter));
    }
  }

  void read_warnings(const YAML::Node& node) {
    for (const auto& item : list(node, "warnings")) {
      const std::string key = fmt::format("warnings[{}]", into_.warnings.size());
      PageWarning warning{term(item, key, {"text"}), {}};
      if (!error && !item["text"]) fail(item, key, "the key \"text\" is missing");
      if (error) return;
      warning.text = string(item["text"], key + ".text", is_text, "a sentence");
      into_.warnings.push_back(std::move(warning));
    }
  }

  std::string file_;
  EngineProfile& into_;
};

}  // namespace

Result<EngineProfile> parse_engine_profile(std::string_view file, std::string_view text) {
  if (text.size() > kMostTextBytes) {
    return Error(Code::kTooLarge, fmt::format("{}: longer than {} bytes", file, kMostTextBytes));
  }
  EngineProfile profile;
  ProfileReader reader(file, profile);
  try {
    reader.read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    return Error(Code::kBadRequest, fmt::format("{}:{}: {}", file, e.mark.line + 1, e.msg));
  }
  if (reader.error) return *reader.error;
  return profile;
}

std::vector<EngineProfile> built_in_profiles() {
  std::vector<EngineProfile> profiles;
  for (const auto& [file, text] : built_in_profile_texts()) {
    auto profile = parse_engine_profile(file, text);
    if (!profile) throw std::logic_error(profile.error().message);
    profiles.push_back(*std::move(profile));
  }
  std::stable_sort(profiles.begin(), profiles.end(),
                   [](const EngineProfile& a, const EngineProfile& b) { return a.rank < b.rank; });
  return profiles;
}

std::vector<std::string> wanted_sample_names(const std::vector<EngineProfile>& profiles) {
  std::vector<std::string> names;
  std::set<std::string, std::less<>> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (const auto& profile : profiles) {
    for (const auto& candidates : profile.roles) {
      for (const auto& candidate : candidates) {
        for (const auto& term : candidate.terms) add(term.sample);
      }
    }
    for (const auto& warning : profile.warnings) add(warning.term.sample);
    for (const auto& name : profile.names) add(name);
  }
  return names;
}

}  // namespace loadline::provider
