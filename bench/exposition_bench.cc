// The targeted scan of a vLLM page against what it must beat (a plain getline parser) and what
// bounds it (memchr to every newline). CPU time, repetitions interleaved; ends with the ratios of
// the medians.
#include "scrape/exposition.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace loadline::scrape {
namespace {

const WantedNames& wanted() {
  static const WantedNames names(
      {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
       "vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_preemptions_total",
       "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
       "vllm:time_to_first_token_seconds_sum", "vllm:time_to_first_token_seconds_count"});
  return names;
}

// One copy stays in the cache; many do not.
const std::vector<std::string>& pages(bool cold) {
  static const auto read = [](std::size_t copies) {
    std::ifstream in(LOADLINE_SOURCE_DIR
                     "/tests/testdata/exposition/vllm-0.2x-v1-full-synthetic.prom");
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    return std::vector<std::string>(copies, page);
  };
  static const std::vector<std::string> one = read(1);
  static const std::vector<std::string> many = read(2048);
  return cold ? many : one;
}

template <class Scan>
void over_pages(benchmark::State& state, bool cold, Scan scan) {
  const auto& all = pages(cold);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(scan(all[next]));
    next = next + 1 == all.size() ? 0 : next + 1;
  }
  state.SetBytesProcessed(
      static_cast<std::int64_t>(static_cast<std::size_t>(state.iterations()) * all[0].size()));
}

double targeted(const std::string& page) {
  ScrapeResult result;
  ExpositionScanner scanner(wanted(), result);
  scanner.feed(page);
  scanner.finish();
  return static_cast<double>(result.samples.size());
}

double naive(const std::string& page) {
  std::istringstream in(page);
  std::map<std::string, double> samples;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto blank = line.rfind(' ');
    if (blank == std::string::npos) continue;
    samples[line.substr(0, blank)] = std::strtod(line.c_str() + blank + 1, nullptr);
  }
  double sum = 0;
  for (const std::string& name : wanted().names()) {
    const auto first = samples.lower_bound(name);
    if (first != samples.end()) sum += first->second;
  }
  return sum;
}

double newlines(const std::string& page) {
  const char* at = page.data();
  const char* const end = at + page.size();
  double lines = 0;
  while (const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
    at = static_cast<const char*>(newline) + 1;
    ++lines;
  }
  return lines;
}

// Remembers the medians and prints what they say about each other.
class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.aggregate_name == "median")
        medians_[run.run_name.function_name] = run.GetAdjustedCPUTime();
    }
  }
  void Finalize() override {
    for (const std::string where : {"warm", "cold"}) {
      const double ours = medians_["targeted/" + where];
      std::cout << where << ": " << medians_["naive/" + where] / ours << " x naive (goal 12), "
                << 100 * medians_["memchr_per_line/" + where] / ours
                << " % of memchr per line (goal 50)\n";
      // Half of the goals: a guard against regressions that noise does not set off.
      well_ = well_ && medians_["naive/" + where] > 6 * ours &&
              medians_["memchr_per_line/" + where] > 0.25 * ours;
    }
  }
  bool well() const { return well_; }

 private:
  std::map<std::string, double> medians_;
  bool well_ = true;
};

void add(const std::string& name, double (*scan)(const std::string&)) {
  for (const bool cold : {false, true}) {
    benchmark::RegisterBenchmark((name + (cold ? "/cold" : "/warm")).c_str(),
                                 [=](benchmark::State& state) { over_pages(state, cold, scan); })
        ->Repetitions(7)
        ->ReportAggregatesOnly();
  }
}

}  // namespace
}  // namespace loadline::scrape

int main(int argc, char** argv) {
  using namespace loadline::scrape;
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::string least = "--benchmark_min_time=0.1";
  arguments.insert(arguments.begin() + 1, {interleave.data(), least.data()});
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  add("targeted", targeted);
  add("naive", naive);
  add("memchr_per_line", newlines);
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  if (reporter.well()) return 0;
  std::cout << "the scan has become slower than half of its goals\n";
  return 1;
}
