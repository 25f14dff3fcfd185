#include "cmd/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace loadline::cmd {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& source) {
  ProbeOptions options;
  options.source = source;
  std::ostringstream out;
  const Status probed = probe(options, out);
  EXPECT_EQ(out.str(), "") << source;
  if (probed) return "no complaint";
  EXPECT_NE(probed.error().code, Code::kInternal) << "exit 2, not 1: " << source;
  return probed.error().message;
}

TEST(ProbeCommand, PortsThatAreNoneAreRefusedBeforeAnythingIsDialled) {
  for (const char* port : {"0", "65536", "99999", "-1", "abc", "80x"}) {
    EXPECT_THAT(complaint("http://127.0.0.1:" + std::string(port) + "/metrics"), HasSubstr("port"))
        << port;
  }
  EXPECT_THAT(complaint("http://[::1]:99999/"), HasSubstr("port"));
}

TEST(ProbeCommand, WhatIsNoUrlAndNoPageIsNamedWithTheCure) {
  EXPECT_THAT(complaint("https://127.0.0.1/metrics"), HasSubstr("only http://"));
  EXPECT_THAT(complaint("http://u:p@127.0.0.1/"), HasSubstr("credentials"));
  EXPECT_THAT(complaint("127.0.0.1:1/metrics"), HasSubstr("a URL such as http://"));
  EXPECT_THAT(complaint(testing::TempDir()), HasSubstr("it is a folder"));
  EXPECT_THAT(complaint("HTTP://127.0.0.1:1/"), HasSubstr("127.0.0.1")) << "dialled, and refused";
}

TEST(ProbeCommand, AFileGivesOneJsonObject) {
  ProbeOptions options;
  options.source =
      LOADLINE_SOURCE_DIR "/tests/testdata/exposition/vllm-0.2x-v1-full-synthetic.prom";
  options.json = true;
  std::ostringstream out;
  const Status probed = probe(options, out);
  ASSERT_TRUE(probed.has_value()) << probed.error().message;
  const auto report = nlohmann::json::parse(out.str());
  EXPECT_EQ(report["engine"], "vllm");
  EXPECT_TRUE(report["signals"]["running"].is_number());
  EXPECT_TRUE(report["missing"].is_array());
  EXPECT_TRUE(report["warnings"].is_array());
}

}  // namespace
}  // namespace loadline::cmd
