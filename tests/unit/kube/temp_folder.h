// A folder of its own for one test, gone at its end.
#pragma once

#include "base/file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace loadline::kube {

class TempFolder {
 public:
  TempFolder() {
    std::string name = testing::TempDir() + "loadline-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(file(name)).parent_path());
    EXPECT_TRUE(write_file(file(name), bytes));
    return file(name);
  }

 private:
  std::string path_;
};

}  // namespace loadline::kube
