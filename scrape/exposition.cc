#include "scrape/exposition.h"

#include "scrape/sample_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace loadline::scrape {
namespace {

constexpr std::size_t kSniffedBytes = 512;
constexpr std::string_view kJsonMessage =
    "the page is JSON; trtllm-serve has its metrics on /prometheus/metrics";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What a line is by its first byte, as the number of samples that it counts for once it is stepped
// over.
constexpr std::uint8_t kComment = 0, kSample = 1, kOther = 2;
constexpr auto kLineKinds = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (std::size_t c = 0; c < kinds.size(); ++c)
    kinds[c] = is_name_start(static_cast<char>(c)) ? kSample : kOther;
  kinds['#'] = kComment;
  return kinds;
}();

// A comment or an unwanted sample: told without a branch, for what follows no pattern costs more
// than the rest of the scan.
bool is_stepped_over(const char* line, const WantedNames& wanted) {
  const unsigned other = kLineKinds[static_cast<unsigned char>(*line)] >> 1;
  return (other | static_cast<unsigned>(wanted.may_begin(line))) == 0;
}

// The last bytes of a page, as many as the longest way to write the end of an OpenMetrics one.
class PageTail {
 public:
  void feed(std::string_view bytes) {
    if (bytes.size() >= kMost) tail_.clear();
    tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kMost));
    if (tail_.size() > kMost) tail_.erase(0, tail_.size() - kMost);
  }
  bool ends_openmetrics() const {
    std::string_view tail = tail_;
    if (tail.ends_with('\n')) tail.remove_suffix(1);
    if (tail.ends_with('\r')) tail.remove_suffix(1);
    if (!tail.ends_with("# EOF")) return false;
    tail.remove_suffix(5);
    return tail.empty() || tail.back() == '\n';
  }

 private:
  static constexpr std::size_t kMost = 8;  // "\n# EOF\r\n"
  std::string tail_;
};

// The verdict on the last name that was looked up: lines of one family stand together.
struct LastName {
  std::array<char, 128> text;
  std::size_t bytes = 0;
  std::optional<std::uint16_t> index;

  bool begins(std::string_view line) const {
    return bytes != 0 && line.size() > bytes && std::memcmp(line.data(), text.data(), bytes) == 0 &&
           !is_name_char(line[bytes]);
  }
  void set(std::string_view name, std::optional<std::uint16_t> found) {
    bytes = name.size() <= text.size() ? name.size() : 0;
    std::memcpy(text.data(), name.data(), bytes);
    index = found;
  }
};

}  // namespace

struct ExpositionScanner::State {
  State(const WantedNames& w, ScrapeResult& r, PageFormat f)
      : wanted(w), into(r), format(f), store(r), parser(f) {}

  void feed(std::string_view bytes);
  void finish();
  void sniff(std::string_view bytes);
  std::string_view complete_carried(std::string_view bytes);
  void carry_on(std::string_view bytes);
  void end_carried_line();
  void take_lines(std::string_view bytes);
  void take_line(std::string_view line);
  void take_declaration(std::string_view line);
  void store_sample(std::uint16_t index);
  void fail(ScrapeFailure failure, std::string_view message);

  const WantedNames& wanted;
  ScrapeResult& into;
  const PageFormat format;
  SampleStore store;
  LineParser parser;
  ParsedLine parsed;
  LastName last;
  PageTail tail;
  std::string carried;   // the line that is not complete yet
  bool carrying = true;  // the first line always is, for its byte order mark
  bool first_line = true;
  bool too_long = false;  // the carried line is, and its bytes are dropped
  bool any_good = false;  // a line has proved to be a sample
  bool failed = false;
  char first_byte = 0;  // of the page, blanks aside
  std::size_t sniffed = 0;
};

ExpositionScanner::ExpositionScanner(const WantedNames& wanted, ScrapeResult& into,
                                     PageFormat format)
    : state_(std::make_unique<State>(wanted, into, format)) {}

ExpositionScanner::~ExpositionScanner() = default;

void ExpositionScanner::feed(std::string_view bytes) { state_->feed(bytes); }
void ExpositionScanner::finish() { state_->finish(); }

void ExpositionScanner::State::feed(std::string_view bytes) {
  into.page_bytes += bytes.size();
  if (sniffed < kSniffedBytes) sniff(bytes);
  if (failed || bytes.empty()) return;
  if (format == PageFormat::kOpenMetrics) tail.feed(bytes);
  if (carrying) bytes = complete_carried(bytes);
  if (!failed && !bytes.empty()) take_lines(bytes);
}

// This loop is what a page costs: one branch for each line, and that one goes the same way nearly
// always.
void ExpositionScanner::State::take_lines(std::string_view bytes) {
  const WantedNames& names = wanted;
  const std::size_t least = names.gate_bytes();
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  std::uint64_t samples = 0;
  while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
    const auto* newline = static_cast<const char*>(found);
    const auto size = static_cast<std::size_t>(newline - at);
    // Long enough for the gate, and not too long.
    const bool usual = size - least <= kMostLineBytes - least;
    if (any_good && usual && is_stepped_over(at, names)) {
      samples += kLineKinds[static_cast<unsigned char>(*at)];
    } else {
      take_line({at, size});
      if (failed) return;
    }
    at = newline + 1;
  }
  into.samples_on_page += samples;
  if (at != end) carry_on({at, static_cast<std::size_t>(end - at)});
}

void ExpositionScanner::State::finish() {
  if (failed) return;
  if (carrying) end_carried_line();
  if (failed) return;
  if (!any_good && into.refused_lines > 0) {
    fail(ScrapeFailure::kNotMetrics, first_byte == '{' || first_byte == '"'
                                         ? kJsonMessage
                                         : "no line of the page is a metrics sample");
  } else if (format == PageFormat::kOpenMetrics && !tail.ends_openmetrics()) {
    fail(ScrapeFailure::kCutShort, "the OpenMetrics page does not end with \"# EOF\"");
  }
}

// What a page is that is no exposition shows in its first bytes.
void ExpositionScanner::State::sniff(std::string_view bytes) {
  bytes = bytes.substr(0, kSniffedBytes - sniffed);
  sniffed += bytes.size();
  if (first_byte == 0) {
    const auto significant = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (significant != bytes.npos) first_byte = bytes[significant];
  }
  if (first_byte == '<') {
    fail(ScrapeFailure::kNotMetrics,
         "the page is HTML, not metrics: is this a login page or another server?");
  } else if (first_byte == '[') {
    fail(ScrapeFailure::kNotMetrics, kJsonMessage);
  } else if (bytes.find('\0') != bytes.npos) {
    fail(ScrapeFailure::kNotMetrics, "the page is binary, not metrics text");
  }
}

std::string_view ExpositionScanner::State::complete_carried(std::string_view bytes) {
  const auto newline = bytes.find('\n');
  carry_on(bytes.substr(0, newline));
  if (newline == bytes.npos) return {};
  end_carried_line();
  return bytes.substr(newline + 1);
}

void ExpositionScanner::State::carry_on(std::string_view bytes) {
  carrying = true;
  if (carried.size() + bytes.size() > kMostLineBytes) too_long = true;
  if (!too_long) carried += bytes;
}

void ExpositionScanner::State::end_carried_line() {
  carrying = false;
  if (too_long) {
    ++into.refused_lines;
  } else {
    std::string_view line = carried;
    if (first_line && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    take_line(line);
  }
  carried.clear();
  first_line = too_long = false;
}

void ExpositionScanner::State::take_line(std::string_view line) {
  if (line.size() > kMostLineBytes) {
    ++into.refused_lines;
    return;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.starts_with(' ') || line.starts_with('\t')) line.remove_prefix(1);
  if (line.empty()) return;
  if (line.front() == '#') {
    if (!any_good) take_declaration(line);
    return;
  }

  std::optional<std::uint16_t> index;
  std::size_t name_bytes = 0;
  if (last.begins(line)) {
    name_bytes = last.bytes;
    index = last.index;
  } else {
    name_bytes = name_length(line);
    if (name_bytes != 0) {
      index = wanted.find(line.substr(0, name_bytes));
      last.set(line.substr(0, name_bytes), index);
    }
  }
  if (any_good && name_bytes != 0 && !index) {
    ++into.samples_on_page;
    return;
  }
  if (!parser.parse(line, name_bytes, parsed)) {
    ++into.refused_lines;
    return;
  }
  any_good = true;
  ++into.samples_on_page;
  if (name_bytes == 0) index = wanted.find(parsed.name);
  if (index) store_sample(*index);
}

// "# TYPE name counter". A counter's name may lack its "_total" there.
void ExpositionScanner::State::take_declaration(std::string_view line) {
  constexpr std::string_view kType = "# TYPE ";
  if (!line.starts_with(kType) || into.declared.size() >= wanted.names().size()) return;
  line.remove_prefix(kType.size());
  const std::string name(line.substr(0, line.find(' ')));
  auto index = wanted.find(name);
  if (!index) index = wanted.find(name + "_total");
  if (index) into.declared.push_back(*index);
}

void ExpositionScanner::State::store_sample(std::uint16_t index) {
  switch (store.add(index, parsed)) {
    case SampleStore::Added::kNew:
      break;
    case SampleStore::Added::kDuplicate:
      ++into.duplicates;
      break;
    case SampleStore::Added::kFull:
      fail(ScrapeFailure::kTooLarge,
           "more wanted samples, labels or label text than one page may have");
      break;
  }
}

void ExpositionScanner::State::fail(ScrapeFailure failure, std::string_view message) {
  failed = true;
  into.failure = failure;
  into.message = message;
  store.clear();
  into.declared.clear();
  into.samples_on_page = 0;
  into.duplicates = into.refused_lines = 0;
}

}  // namespace loadline::scrape
