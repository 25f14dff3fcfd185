// The scanner against the slow reference: whole pages, pages cut at every byte, and pages damaged
// at random.
#include "scrape/exposition.h"
#include "tests/support/page_file.h"
#include "tests/support/reference_exposition.h"
#include "tests/support/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace loadline::scrape {
namespace {

using testing::difference;
using testing::page_file;
using testing::page_files;
using testing::read_exposition;
using testing::sample_names;
using testing::scan;

constexpr PageFormat kFormats[] = {PageFormat::kText, PageFormat::kOpenMetrics};

std::vector<std::string> handmade_pages() {
  using namespace std::string_literals;
  return {
      "x 1"s,
      "x 1\r"s,
      "\r\nx 1\r\r\n"s,
      "\xef\xbb\xbf# HELP x y\nx 1\n"s,
      "\xef\xbb\xbf\xef\xbb\xbfx 1\n"s,
      "\xef\xbbx 1\n"s,
      "x 1\n\xef\xbb\xbfx{a=\"1\"} 2\n"s,
      "\xefx 1\nx 2\n"s,
      "\n\n\t \n x{a=\"1\"} 1\n\tx{a=\"2\"}\t2\n# EOF"s,
      "x{a=\"\\\\\",b=\"\\n\",c=\"\\\"\"} 1\n# EOF\r\n"s,
      "x{a=\"1\"} 1\nx{a=\"1\",b=\"\"} 2\nx 1\n# EOF\n"s,
      "{\"x\"} 1\n{\"y.z\",\"a.b\"=\"c\"} 2\n{\"y.z\"} 3\nx{\"a\"=\"b\"} 4\n"s,
      "{\"a\": 1}\nx 2\n"s,
      "{\n\"a\": 1\n}\n"s,
      "[1]\nx 2\n"s,
      "<x>\nx 1\n"s,
      "x 1\n<x>\n"s,
      "x 1 # {t=\"1\"} 2 3.5\nx{l=\"1\"} 1 5 # {} 1\nx{l=\"2\"} 1 #\n# EOF\n"s,
      "x NaN\nx{a=\"1\"} +Inf\nx{a=\"2\"} -inf\nx{a=\"3\"} 1e400\nx{a=\"4\"} 0x1p4\nx{a=\"5\"} 1e-400\n"s,
      "x 1 1700000000\nx{a=\"1\"} 1 1700000000.5\nx{a=\"2\"} 1 -1\nx{a=\"3\"} 1 1e3\n# EOF\n"s,
      "x{a=\"\xff\"} 1\nx{a=\"\xc3\xa9\"} 2\nx 3\n"s,
      "x 1\n\0"s,
      "x 1\nx{a=\"\0\"} 2\n"s,
      "x 1\n" + std::string(600, '#') + "\nx{a=\"\0\"} 2\n"s,
      "xx 1\nxy 2\nx:y 3\nx_y 4\nx 5\nx\n"s,
      "vllm:num_requests_running 1\nvllm:num_requests_runnin 2\nvllm:num_requests_running_ 3\n"s,
      "x" + std::string(70'000, ' ') + "1\nx 2\n"s,
      "x 1\nother_requests_running" + std::string(70'000, ' ') + "1\n"s,
      "x" + std::string(65'000, ' ') + "1\nx 2\n"s,
      "# EOF"s,
      ""s,
  };
}

// Wanted: nothing, all, and every third name of the page.
std::vector<std::vector<std::string>> wanted_sets(const std::string& page) {
  const std::vector<std::string> all = sample_names(page);
  std::vector<std::string> some;
  for (std::size_t i = 0; i < all.size(); i += 3) some.push_back(all[i]);
  return {{}, all, some};
}

void expect_same(const std::string& page, const std::string& name,
                 const std::vector<std::string>& names, std::size_t step) {
  const WantedNames wanted(names);
  for (const PageFormat format : kFormats) {
    const auto reference = read_exposition(page, names, format == PageFormat::kOpenMetrics);
    ASSERT_EQ(difference(scan(page, wanted, {}, format), wanted, reference), "") << name;
    std::vector<std::size_t> everywhere(page.size());
    for (std::size_t i = 0; i < page.size(); ++i) everywhere[i] = i;
    ASSERT_EQ(difference(scan(page, wanted, everywhere, format), wanted, reference), "")
        << name << ", byte by byte";
    if (step == 0 || (format == PageFormat::kOpenMetrics && page.size() > 6000)) continue;
    for (std::size_t cut = 1; cut < page.size(); cut += step) {
      ASSERT_EQ(difference(scan(page, wanted, {cut}, format), wanted, reference), "")
          << name << ", cut at " << cut;
    }
  }
}

TEST(ExpositionDifferential, EveryPageReadsAsTheReferenceReadsItWholeAndByteByByte) {
  for (const std::string& name : page_files()) {
    const std::string page = page_file(name);
    for (const auto& names : wanted_sets(page)) expect_same(page, name, names, 0);
  }
}

TEST(ExpositionDifferential, EveryPageReadsTheSameCutInTwo) {
  for (const std::string& name : page_files()) {
    const std::string page = page_file(name);
    const auto sets = wanted_sets(page);
    // At every byte; of the big pages, whose lines are all alike, at every 97th.
    expect_same(page, name, sets[2], page.size() < 6000 ? 1 : 97);
  }
}

TEST(ExpositionDifferential, HandmadePagesReadAsTheReferenceReadsThem) {
  const auto pages = handmade_pages();
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::vector<std::string> names{"x", "y.z", "vllm:num_requests_running"};
    const std::string name = "page " + std::to_string(i);
    expect_same(pages[i], name, names, pages[i].size() < 2000 ? 1 : 7919);
    expect_same(pages[i], name, {"vllm:num_requests_running"}, 0);
    expect_same(pages[i], name, {}, 0);
  }
}

std::string damaged(std::string page, std::mt19937& random) {
  using namespace std::string_literals;
  static const std::string kBytes = "{}\",=\\ \t\n\r#:+-.eE019xnN<[\0\xef\xff\xc3"s;
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t edits = 1 + below(6); edits > 0 && !page.empty(); --edits) {
    const std::size_t at = below(page.size());
    switch (below(4)) {
      case 0:
        page[at] = kBytes[below(kBytes.size())];
        break;
      case 1:
        page.insert(at, 1, kBytes[below(kBytes.size())]);
        break;
      case 2:
        page.erase(at, 1 + below(5));
        break;
      default:
        page.insert(at, page.substr(below(page.size()), below(60)));
    }
  }
  return page;
}

TEST(ExpositionDifferential, DamagedPagesReadAsTheReferenceReadsThem) {
  std::mt19937 random(20260102);
  std::vector<std::string> pages = handmade_pages();
  for (const std::string& name : page_files()) {
    if (const std::string page = page_file(name); page.size() < 3000) pages.push_back(page);
  }
  for (int round = 0; round < 4000; ++round) {
    const std::string& whole = pages[static_cast<std::size_t>(round) % pages.size()];
    const std::string page = damaged(whole.substr(0, 3000), random);
    auto names = sample_names(whole);
    names.emplace_back("x");
    const WantedNames wanted(names);
    const PageFormat format = kFormats[static_cast<std::size_t>(round / 7) % 2];
    const auto reference =
        read_exposition(page, wanted.names(), format == PageFormat::kOpenMetrics);
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 0; cut < page.size(); cut += 1 + random() % 40) cuts.push_back(cut);
    ASSERT_EQ(difference(scan(page, wanted, {}, format), wanted, reference), "") << page;
    ASSERT_EQ(difference(scan(page, wanted, cuts, format), wanted, reference), "") << page;
  }
}

}  // namespace
}  // namespace loadline::scrape
