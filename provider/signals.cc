#include "provider/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace loadline::provider {
namespace {

using scrape::Sample;
using scrape::ScrapeResult;

constexpr std::size_t kMostModelBytes = 256;

bool contains(const std::vector<std::string>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::optional<std::string_view> label(const ScrapeResult& page, const Sample& sample,
                                      std::string_view name) {
  for (auto it = page.labels_begin(sample); it != page.labels_end(sample); ++it) {
    if (it->name == name) return it->value;
  }
  return std::nullopt;
}

bool is_foreign(const EngineProfile& profile, const ScrapeResult& page, const Sample& sample) {
  return std::any_of(
      profile.foreign_labels.begin(), profile.foreign_labels.end(),
      [&](const std::string& name) { return label(page, sample, name).has_value(); });
}

bool names_engine(const EngineProfile& profile, std::string_view sample_name) {
  return contains(profile.names, sample_name) ||
         std::any_of(profile.prefixes.begin(), profile.prefixes.end(),
                     [&](const std::string& prefix) { return sample_name.starts_with(prefix); });
}

bool passes(const SampleTerm& term, const ScrapeResult& page, const Sample& sample) {
  for (const LabelFilter& filter : term.filters) {
    const auto value = label(page, sample, filter.label);
    const bool hit = value && (filter.values.empty() || contains(filter.values, *value));
    if (hit != filter.keep) return false;
  }
  return true;
}

// Of the sample's labels without `without`; the order of labels makes no difference.
std::uint64_t series_key(const ScrapeResult& page, const Sample& sample,
                         const std::vector<std::string>& without) {
  const std::hash<std::string_view> hash;
  std::uint64_t key = 0x9e3779b97f4a7c15u * (sample.name_index + 1u);
  for (auto it = page.labels_begin(sample); it != page.labels_end(sample); ++it) {
    if (contains(without, it->name)) continue;
    std::uint64_t h = hash(it->name) * 0xff51afd7ed558ccdu + hash(it->value);
    h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53u;
    key += h ^ h >> 29;
  }
  return key;
}

std::vector<CounterSeries>* series_of(PageSignals& into, Role role) {
  switch (role) {
    case Role::kCompletedTotal:
      return &into.completed;
    case Role::kPromptTokensTotal:
      return &into.prompt_tokens;
    case Role::kGenerationTokensTotal:
      return &into.generation_tokens;
    default:
      return nullptr;
  }
}

// One page under one profile.
class Folder {
 public:
  Folder(const EngineProfile& profile, const ScrapeResult& page, const scrape::WantedNames& wanted,
         std::chrono::milliseconds max_age)
      : profile_(profile), page_(page), wanted_(wanted) {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    oldest_ms_ = duration_cast<milliseconds>(page.wall_time.time_since_epoch() - max_age).count();
    by_name_.resize(wanted.names().size());
    for (const Sample& sample : page.samples) {
      if (sample.name_index < by_name_.size() && !is_foreign(profile, page, sample)) {
        by_name_[sample.name_index].push_back(&sample);
      }
    }
  }

  PageSignals run() {
    result_.engine = profile_.engine;
    result_.model = model();
    result_.signals.t_s = to_seconds(page_.time);
    for (std::size_t i = 0; i < kRoles; ++i) {
      const auto role = static_cast<Role>(i);
      signal(result_.signals, role) = read_role(role, profile_.roles[i]);
      if (!signal(result_.signals, role)) result_.missing.emplace_back(to_string(role));
    }
    for (const PageWarning& warning : profile_.warnings) {
      const TermValue found = read_term(warning.term);
      if (found.value && *found.value > 0)
        warn(fmt::format("{}: {}", warning.term.sample, warning.text));
    }
    if (page_.duplicates > 0) warn("the page repeats series: the first of each counts");
    if (page_.refused_lines > 0) warn("the page has malformed lines: they were stepped over");
    return std::move(result_);
  }

 private:
  struct TermValue {
    std::optional<double> value;
    const char* fault = nullptr;  // why the samples that are there cannot be used
    std::vector<CounterSeries> series;
  };

  void warn(std::string text) { result_.warnings.push_back(std::move(text)); }

  const std::vector<const Sample*>& samples(const std::string& name) const {
    static const std::vector<const Sample*> kNone;
    const auto index = wanted_.find(name);
    return index ? by_name_[*index] : kNone;
  }

  std::string model() const {
    for (const std::string& name : profile_.model_labels) {
      for (const Sample& sample : page_.samples) {
        if (!names_engine(profile_, wanted_.names().at(sample.name_index))) continue;
        if (is_foreign(profile_, page_, sample)) continue;
        const auto value = label(page_, sample, name);
        if (value && !value->empty()) return std::string(value->substr(0, kMostModelBytes));
      }
    }
    return {};
  }

  std::optional<double> read_role(Role role, const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      double sum = 0;
      bool complete = true;
      std::vector<CounterSeries> series;
      for (const SampleTerm& term : candidate.terms) {
        TermValue read = read_term(term);
        if (read.fault != nullptr) {
          warn(fmt::format("{}: {} {}: the signal is unknown", to_string(role), term.sample,
                           read.fault));
          return std::nullopt;
        }
        if (!read.value) {
          complete = false;
          break;
        }
        sum += *read.value;
        series.insert(series.end(), read.series.begin(), read.series.end());
      }
      if (!complete) continue;
      if (!std::isfinite(sum) || sum < 0) {
        warn(fmt::format("{}: adds up to no count: the signal is unknown", to_string(role)));
        return std::nullopt;
      }
      if (candidate.deprecated) {
        warn(fmt::format("{}: read from the deprecated {}", to_string(role),
                         candidate.terms.front().sample));
      }
      if (auto* into = series_of(result_, role)) *into = std::move(series);
      return sum;
    }
    return std::nullopt;
  }

  const char* fault_of(const Sample& sample) const {
    if (!std::isfinite(sample.value)) return "has a sample that is not finite";
    if (sample.value < 0) return "has a sample below 0";
    if (sample.timestamp_ms && *sample.timestamp_ms < oldest_ms_)
      return "has a sample with an old time stamp";
    return nullptr;
  }

  TermValue read_term(const SampleTerm& term) const {
    TermValue result;
    const auto& family = samples(term.sample);
    for (const Sample* sample : family) {
      if (!passes(term, page_, *sample)) continue;
      if ((result.fault = fault_of(*sample)) != nullptr) return result;
      if (result.series.size() == kMostSeries) {
        result.fault = "has too many series";
        return result;
      }
      result.series.push_back({series_key(page_, *sample, term.max_over), sample->value});
    }
    if (result.series.empty()) {
      if (term.absent == Absent::kZero || (term.absent == Absent::kZeroInFamily && !family.empty()))
        result.value = 0;
      return result;
    }
    if (term.fold == Fold::kMaxThenSum) keep_greatest(result.series);
    double folded = 0;  // no value is below 0, so this is right for max as well
    for (const CounterSeries& series : result.series) {
      folded = term.fold == Fold::kMax ? std::max(folded, series.value) : folded + series.value;
    }
    result.value = folded * term.scale;
    return result;
  }

  static void keep_greatest(std::vector<CounterSeries>& series) {
    std::sort(series.begin(), series.end(), [](const CounterSeries& a, const CounterSeries& b) {
      return std::pair(a.key, -a.value) < std::pair(b.key, -b.value);
    });
    const auto end =
        std::unique(series.begin(), series.end(),
                    [](const CounterSeries& a, const CounterSeries& b) { return a.key == b.key; });
    series.erase(end, series.end());
  }

  const EngineProfile& profile_;
  const ScrapeResult& page_;
  const scrape::WantedNames& wanted_;
  std::int64_t oldest_ms_ = 0;
  std::vector<std::vector<const Sample*>> by_name_;
  PageSignals result_;
};

}  // namespace

const EngineProfile* detect(const std::vector<EngineProfile>& profiles, const ScrapeResult& page,
                            const scrape::WantedNames& wanted) {
  for (const EngineProfile& profile : profiles) {
    for (const Sample& sample : page.samples) {
      if (names_engine(profile, wanted.names().at(sample.name_index)) &&
          !is_foreign(profile, page, sample)) {
        return &profile;
      }
    }
  }
  // An engine before its first request may declare families and have no sample of them.
  for (const EngineProfile& profile : profiles) {
    for (const std::uint16_t index : page.declared) {
      if (names_engine(profile, wanted.names().at(index))) return &profile;
    }
  }
  return nullptr;
}

PageSignals fold(const EngineProfile& profile, const ScrapeResult& page,
                 const scrape::WantedNames& wanted, std::chrono::milliseconds max_age) {
  return Folder(profile, page, wanted, max_age).run();
}

}  // namespace loadline::provider
