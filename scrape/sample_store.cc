#include "scrape/sample_store.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace loadline::scrape {
namespace {

__extension__ using Product = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Secret to the process, so that no page can be made whose series all collide.
std::uint64_t seed() {
  static const std::uint64_t value = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1;
  }();
  return value;
}

std::uint64_t hash_text(std::uint64_t h, std::string_view text, std::uint64_t factor) {
  h = mix(h ^ text.size(), factor);
  while (text.size() >= sizeof h) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    h = mix(h ^ word, factor);
    text.remove_prefix(sizeof word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, text.data(), text.size());
  return mix(h ^ rest, factor);
}

// An empty value is the same as no label (Prometheus' data model).
std::uint64_t hash_series(std::uint16_t name_index, const ParsedLine& line) {
  const std::uint64_t factor = seed() ^ 0x9e3779b97f4a7c15u;
  std::uint64_t h = factor + name_index;
  for (std::uint32_t i = 0; i < line.label_count; ++i) {
    const Label& label = line.labels[i];
    if (!label.value.empty()) h = hash_text(hash_text(h, label.name, factor), label.value, factor);
  }
  return h;
}

}  // namespace

SampleStore::SampleStore(ScrapeResult& into) : into_(into) { table_.assign(128, 0); }

SampleStore::Added SampleStore::add(std::uint16_t name_index, const ParsedLine& line) {
  const std::uint64_t hash = hash_series(name_index, line);
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  for (; table_[slot] != 0; slot = (slot + 1) & mask) {
    const std::uint32_t index = table_[slot] - 1;
    if (hashes_[index] == hash && same_series(into_.samples[index], name_index, line))
      return Added::kDuplicate;
  }

  std::size_t text = 0;
  for (std::uint32_t i = 0; i < line.label_count; ++i) {
    text += line.labels[i].name.size() + line.labels[i].value.size();
  }
  if (into_.samples.size() == kMostSamples ||
      into_.labels.size() + line.label_count > kMostStoredLabels ||
      text_bytes_ + text > kMostTextBytes) {
    return Added::kFull;
  }

  if (into_.samples.empty()) {
    into_.samples.reserve(32);
    into_.labels.reserve(64);
    hashes_.reserve(32);
  }
  Sample sample;
  sample.name_index = name_index;
  sample.first_label = static_cast<std::uint32_t>(into_.labels.size());
  sample.labels = line.label_count;
  sample.value = line.value;
  sample.timestamp_ms = line.timestamp_ms;
  for (std::uint32_t i = 0; i < line.label_count; ++i)
    into_.labels.push_back(keep(line.labels[i], i));
  into_.samples.push_back(sample);
  hashes_.push_back(hash);
  table_[slot] = static_cast<std::uint32_t>(into_.samples.size());
  if (2 * into_.samples.size() > table_.size()) grow_table();
  return Added::kNew;
}

bool SampleStore::same_series(const Sample& sample, std::uint16_t name_index,
                              const ParsedLine& line) const {
  if (sample.name_index != name_index) return false;
  auto ours = into_.labels_begin(sample);
  const auto ours_end = into_.labels_end(sample);
  const auto skip_empty = [&] {
    while (ours != ours_end && ours->value.empty()) ++ours;
  };
  for (std::uint32_t i = 0; i < line.label_count; ++i) {
    if (line.labels[i].value.empty()) continue;
    skip_empty();
    if (ours == ours_end || ours->name != line.labels[i].name ||
        ours->value != line.labels[i].value)
      return false;
    ++ours;
  }
  skip_empty();
  return ours == ours_end;
}

void SampleStore::grow_table() {
  table_.assign(2 * table_.size(), 0);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = 0; i < hashes_.size(); ++i) {
    std::size_t slot = hashes_[i] & mask;
    while (table_[slot] != 0) slot = (slot + 1) & mask;
    table_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

// Neighbours on a page share most labels: the text of the sample before is used again.
Label SampleStore::keep(const Label& label, std::uint32_t position) {
  Label kept;
  if (!into_.samples.empty() && position < into_.samples.back().labels) {
    const Label& before = into_.labels[into_.samples.back().first_label + position];
    if (before.name == label.name) kept.name = before.name;
    if (before.value == label.value) kept.value = before.value;
  }
  if (kept.name.data() == nullptr) kept.name = keep(label.name);
  if (kept.value.data() == nullptr) kept.value = keep(label.value);
  return kept;
}

std::string_view SampleStore::keep(std::string_view text) {
  if (text.empty()) return "";
  if (text.size() > free_bytes_) {
    const std::size_t chunk =
        std::max<std::size_t>(text.size(), into_.text.empty() ? 1024 : 16 << 10);
    into_.text.emplace_back(new char[chunk]);
    free_ = into_.text.back().get();
    free_bytes_ = chunk;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view kept(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  text_bytes_ += text.size();
  return kept;
}

void SampleStore::clear() {
  into_.samples.clear();
  into_.labels.clear();
  into_.text.clear();
  hashes_.clear();
  table_.assign(128, 0);
  free_ = nullptr;
  free_bytes_ = text_bytes_ = 0;
}

}  // namespace loadline::scrape
