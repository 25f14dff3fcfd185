// The scanner must read any bytes as the slow reference reads them, whole or in pieces. The first
// byte chooses the format and the size of the pieces, the rest is the page.
#include "tests/support/reference_exposition.h"
#include "tests/support/scan.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace loadline;

void require_same(const scrape::ScrapeResult& ours, const scrape::WantedNames& wanted,
                  const testing::ReferencePage& reference, const char* how) {
  const std::string difference = testing::difference(ours, wanted, reference);
  if (difference.empty()) return;
  std::fprintf(stderr, "%s differs from the reference: %s\n", how, difference.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const scrape::WantedNames some({"x", "vllm:num_requests_running",
                                         "vllm:num_requests_waiting", "vllm:request_success_total",
                                         "lat_bucket", "a.b"});
  static const scrape::WantedNames long_ones(
      {"vllm:num_requests_running", "vllm:request_success_total", "lat_bucket"});
  if (size == 0) return 0;
  const std::string page(data + 1, data + size);
  const auto format =
      (data[0] & 1) != 0 ? scrape::PageFormat::kOpenMetrics : scrape::PageFormat::kText;
  const scrape::WantedNames& wanted = (data[0] & 2) != 0 ? some : long_ones;
  const auto reference =
      testing::read_exposition(page, wanted.names(), format == scrape::PageFormat::kOpenMetrics);
  require_same(testing::scan(page, wanted, {}, format), wanted, reference, "the whole page");

  std::vector<std::size_t> cuts;
  const std::size_t step = 1 + (data[0] >> 2);
  for (std::size_t cut = step; cut < page.size(); cut += step) cuts.push_back(cut);
  require_same(testing::scan(page, wanted, cuts, format), wanted, reference, "the page in pieces");
  return 0;
}
