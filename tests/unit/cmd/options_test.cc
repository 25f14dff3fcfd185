#include "cmd/options.h"

#include "provider/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace loadline::cmd {
namespace {

Result<Options> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "loadline");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string complaint(std::vector<const char*> arguments) {
  const auto options = parse(std::move(arguments));
  return options ? std::string("no complaint") : options.error().message;
}

std::string file(const std::string& path) {
  std::ifstream in(std::string(LOADLINE_SOURCE_DIR "/") + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Options, ServeTakesKubernetesFlagsAndDurations) {
  const auto options = parse({"serve", "--kubeconfig", "k", "--secure-port", "6443",
                              "--scrape-interval=1500ms", "--shutdown-delay-duration", "2m"});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  const auto& serve = std::get<ServeOptions>(*options);
  EXPECT_EQ(serve.kubeconfig, "k");
  EXPECT_EQ(serve.secure_port, 6443);
  EXPECT_EQ(serve.scrape_interval, std::chrono::milliseconds(1500));
  EXPECT_EQ(serve.scrape_timeout, serve.scrape_interval) << "never above the interval";
  EXPECT_EQ(serve.shutdown_delay, std::chrono::minutes(2));
  EXPECT_EQ(serve.authorization_mode, AuthorizationMode::kWebhook);
}

TEST(Options, AMistypedFlagIsAnsweredWithTheNearest) {
  EXPECT_THAT(complaint({"serve", "--secure-prot", "1"}),
              testing::HasSubstr("did you mean --secure-port?"));
  EXPECT_THAT(complaint({"serve", "--xyzzy"}), testing::Not(testing::HasSubstr("did you mean")));
}

TEST(Options, WrongValuesNameTheFlag) {
  EXPECT_THAT(complaint({"serve", "--scrape-interval", "5"}),
              testing::HasSubstr("--scrape-interval"));
  EXPECT_THAT(complaint({"serve", "--scrape-interval", "10ms"}),
              testing::HasSubstr("at least 500ms"));
  EXPECT_THAT(complaint({"serve", "--secure-port", "70000"}), testing::HasSubstr("--secure-port"));
  EXPECT_THAT(complaint({"serve", "--tls-cert-file", "a"}),
              testing::HasSubstr("--tls-private-key-file"));
  EXPECT_THAT(complaint({"serve", "--pods", "p", "--kubeconfig", "k"}),
              testing::HasSubstr("--kubeconfig"));
  EXPECT_THAT(complaint({"probe", "x", "--output", "yaml"}), testing::HasSubstr("--output"));
  EXPECT_THAT(complaint({}), testing::HasSubstr("subcommand"));
}

TEST(Options, OpenAccessIsRefusedWithKubernetesAndBeyondLoopback) {
  EXPECT_THAT(complaint({"serve", "--anonymous-auth"}), testing::HasSubstr("--pods alone"));
  EXPECT_THAT(complaint({"serve", "--authorization-mode", "AlwaysAllow"}),
              testing::HasSubstr("--pods alone"));
  EXPECT_THAT(complaint({"serve", "--client-ca-file", "ca"}), testing::HasSubstr("--pods alone"));
  EXPECT_THAT(complaint({"serve", "--pods", "p", "--anonymous-auth"}),
              testing::HasSubstr("loopback"));
  EXPECT_THAT(complaint({"serve", "--pods", "p", "--authorization-mode", "AlwaysAllow",
                         "--bind-address", "10.0.0.1"}),
              testing::HasSubstr("loopback"));
  const auto open = parse({"serve", "--pods", "p", "--bind-address", "127.0.0.1",
                           "--anonymous-auth", "--authorization-mode", "AlwaysAllow"});
  ASSERT_TRUE(open.has_value()) << open.error().message;
}

TEST(Options, WithoutKubernetesTheDefaultIsToDeny) {
  const auto options = parse({"serve", "--pods", "p"});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(std::get<ServeOptions>(*options).authorization_mode, AuthorizationMode::kAlwaysDeny);
}

TEST(Options, WebhookNeedsKubernetes) {
  EXPECT_THAT(complaint({"serve", "--pods", "p", "--authorization-mode", "Webhook"}),
              testing::HasSubstr("needs Kubernetes"));
}

TEST(Options, EmptyValuesAndUnknownWordsAreNamed) {
  EXPECT_THAT(complaint({"serve", "--pods", ""}), testing::HasSubstr("--pods"));
  EXPECT_THAT(complaint({"serve", "--kubeconfig", ""}), testing::HasSubstr("--kubeconfig"));
  EXPECT_THAT(complaint({"prode", "x"}), testing::HasSubstr("did you mean probe?"));
  EXPECT_THAT(complaint({"serve", "--pods", "p", "--authorization-mode", "2"}),
              testing::HasSubstr("must be Webhook, AlwaysDeny or AlwaysAllow"));
  EXPECT_THAT(complaint({"serve", "--bind-address", "localhost"}),
              testing::HasSubstr("is no IP address"));
}

TEST(Options, HelpIsOfTheSubcommandAsked) {
  const auto help = parse({"serve", "--help"});
  ASSERT_TRUE(help.has_value()) << help.error().message;
  EXPECT_THAT(std::get<HelpText>(*help).text, testing::HasSubstr("--requestheader-allowed-names"));
}

TEST(Docs, TheCatalogueStandsInTheDocsWordForWord) {
  const std::string docs = file("docs/metrics.md");
  const std::string readme = file("README.md");
  for (std::size_t i = 0; i < provider::kPodMetrics; ++i) {
    const provider::MetricInfo& info = provider::info(static_cast<provider::PodMetric>(i));
    std::stringstream row;
    row << "| `" << info.name << "` | " << info.unit << " | " << info.help << " |";
    EXPECT_THAT(docs, testing::HasSubstr(row.str()));
    EXPECT_THAT(readme, testing::HasSubstr(std::string(info.name)));
  }
}

}  // namespace
}  // namespace loadline::cmd
