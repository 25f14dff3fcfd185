#include "cmd/data_loop.h"

#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace loadline::cmd {
namespace {

// Without a start: nothing runs, the counters stand at 0.
TEST(DataLoop, EveryFamilyOfItsPageStandsInTheDocs) {
  ServeOptions options;
  options.pods_file = testing::TempDir() + "data-loop-pods.json";
  ASSERT_TRUE(write_file(options.pods_file, R"({"apiVersion":"v1","kind":"List","items":[]})"));
  auto loop = DataLoop::create(options, std::nullopt, system_clock());
  ASSERT_TRUE(loop.has_value()) << loop.error().message;
  apiserver::MetricsPage page;
  (*loop)->write_metrics(page);
  const std::string text = page.take();
  const auto docs = read_file(LOADLINE_SOURCE_DIR "/docs/metrics.md");
  ASSERT_TRUE(docs.has_value());
  constexpr std::string_view kType = "# TYPE ";
  int families = 0;
  for (auto at = text.find(kType); at != text.npos; at = text.find(kType, at + 1), ++families) {
    const auto name = at + kType.size();
    EXPECT_THAT(*docs, testing::HasSubstr(text.substr(name, text.find(' ', name) - name)));
  }
  EXPECT_GT(families, 5);
}

TEST(DataLoop, AMissingPodFileEndsTheStart) {
  ServeOptions options;
  options.pods_file = "/nowhere/pods.yaml";
  const auto loop = DataLoop::create(options, std::nullopt, system_clock());
  ASSERT_FALSE(loop.has_value());
  EXPECT_THAT(loop.error().message, testing::HasSubstr("/nowhere/pods.yaml"));
}

}  // namespace
}  // namespace loadline::cmd
