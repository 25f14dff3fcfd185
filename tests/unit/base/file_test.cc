#include "base/file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace loadline {
namespace {

class File : public testing::Test {
 protected:
  File() {
    std::string pattern = testing::TempDir() + "loadline_file_" + std::string(6, 'X');
    folder_ = ::mkdtemp(pattern.data());
  }
  ~File() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::size_t files() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++n;
    return n;
  }
  std::string folder_;
};

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST_F(File, WhatIsWrittenIsRead) {
  const std::string bytes(200'000, '\0');
  ASSERT_TRUE(write_file(path("a"), "old"));
  ASSERT_TRUE(write_file(path("a"), bytes));
  const auto read = read_file(path("a"));
  ASSERT_TRUE(read);
  EXPECT_TRUE(*read == bytes);
  EXPECT_EQ(files(), 1U) << "nothing is left beside it";
}

TEST_F(File, TheBoundIsOnTheBytes) {
  ASSERT_TRUE(write_file(path("a"), "12345"));
  EXPECT_TRUE(read_file(path("a"), 5));
  const auto over = read_file(path("a"), 4);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kTooLarge);
  EXPECT_NE(over.error().message.find(path("a")), std::string::npos);
}

TEST_F(File, AMissingFileAndAFolderAreErrorsWithThePath) {
  const auto missing = read_file(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find(path("none")), std::string::npos);
  EXPECT_FALSE(read_file(folder_));
  EXPECT_FALSE(write_file(path("none/a"), "x"));
}

TEST_F(File, SecretsAreTheirOwnersAlone) {
  // Left over by a crash, readable by all.
  ASSERT_TRUE(write_file(path("s." + std::to_string(::getpid()) + ".tmp"), "x"));
  ASSERT_TRUE(write_file(path("s"), "secret", true));
  EXPECT_EQ(mode_of(path("s")), 0600U);
  ASSERT_TRUE(write_file(path("p"), "public"));
  EXPECT_EQ(mode_of(path("p")) & 0600U, 0600U);
}

TEST_F(File, AFailedReplacementLeavesNothingBehind) {
  std::filesystem::create_directory(path("folder"));
  EXPECT_FALSE(write_file(path("folder"), "x"));
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace loadline
