// The files of tests/testdata/kube.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace loadline::kube {

inline std::string read_testdata(const std::string& name) {
  std::ifstream in(std::string(LOADLINE_SOURCE_DIR) + "/tests/testdata/kube/" + name,
                   std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace loadline::kube
