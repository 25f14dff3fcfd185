#include "tests/support/scan.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace loadline::testing {
namespace {

using scrape::ScrapeFailure;
using scrape::ScrapeResult;

ScrapeFailure failure_of(ReferencePage::Verdict verdict) {
  if (verdict == ReferencePage::Verdict::kNotMetrics) return ScrapeFailure::kNotMetrics;
  return verdict == ReferencePage::Verdict::kCutShort ? ScrapeFailure::kCutShort
                                                      : ScrapeFailure::kNone;
}

bool same_labels(const ScrapeResult& ours, const scrape::Sample& sample,
                 const ReferenceSample& reference) {
  return std::equal(ours.labels_begin(sample), ours.labels_end(sample), reference.labels.begin(),
                    reference.labels.end(), [](const scrape::Label& a, const auto& b) {
                      return a.name == b.first && a.value == b.second;
                    });
}

}  // namespace

ScrapeResult scan(std::string_view page, const scrape::WantedNames& wanted,
                  const std::vector<std::size_t>& cuts, scrape::PageFormat format) {
  ScrapeResult result;
  scrape::ExpositionScanner scanner(wanted, result, format);
  const auto feed = [&](std::string_view piece) {
    const auto copy = std::make_unique<char[]>(piece.size());
    std::copy(piece.begin(), piece.end(), copy.get());
    scanner.feed({copy.get(), piece.size()});
  };
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    feed(page.substr(from, cut - from));
    from = cut;
  }
  feed(page.substr(from));
  scanner.finish();
  return result;
}

std::string difference(const ScrapeResult& ours, const scrape::WantedNames& wanted,
                       const ReferencePage& reference) {
  if (ours.failure != failure_of(reference.verdict))
    return "failure " + std::string(to_string(ours.failure));
  if (ours.samples_on_page != reference.samples_on_page) {
    return "samples_on_page " + std::to_string(ours.samples_on_page) + ", not " +
           std::to_string(reference.samples_on_page);
  }
  if (ours.duplicates != reference.duplicates)
    return "duplicates " + std::to_string(ours.duplicates);
  if (ours.refused_lines != reference.refused_lines)
    return "refused_lines " + std::to_string(ours.refused_lines);
  if (ours.samples.size() != reference.samples.size())
    return "samples " + std::to_string(ours.samples.size());
  for (std::size_t i = 0; i < ours.samples.size(); ++i) {
    const scrape::Sample& a = ours.samples[i];
    const ReferenceSample& b = reference.samples[i];
    const std::string which = "sample " + std::to_string(i) + " (" + b.name + "): ";
    if (wanted.names()[a.name_index] != b.name) return which + "name";
    if (!same_labels(ours, a, b)) return which + "labels";
    if (a.value != b.value && !(std::isnan(a.value) && std::isnan(b.value))) return which + "value";
    if (a.timestamp_ms != b.timestamp_ms) return which + "time stamp";
  }
  return "";
}

}  // namespace loadline::testing
