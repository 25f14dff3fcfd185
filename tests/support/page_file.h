// The metrics pages in tests/testdata/exposition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace loadline::testing {

inline std::string page_file(const std::string& name) {
  std::ifstream in(std::string(LOADLINE_SOURCE_DIR) + "/tests/testdata/exposition/" + name,
                   std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

// The names of all of them, sorted.
inline std::vector<std::string> page_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(LOADLINE_SOURCE_DIR) +
                                                               "/tests/testdata/exposition")) {
    if (entry.path().extension() != ".md") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace loadline::testing
