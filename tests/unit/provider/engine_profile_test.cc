#include "provider/engine_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace loadline::provider {
namespace {

// A whole profile with `tail` behind it, and its roles replaced where the tail has some.
std::string profile(const std::string& roles, const std::string& more = "") {
  return "schema: 1\nengine: e\ndetect: {rank: 1, prefixes: [\"e_\"]}\n" + more + "roles:\n" +
         roles;
}

std::string error_of(const std::string& text) {
  const auto parsed = parse_engine_profile("e.yaml", text);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, Code::kBadRequest);
  return parsed.error().message;
}

TEST(EngineProfile, TheBuiltInOnesAreRight) {
  const auto profiles = built_in_profiles();
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_EQ(profiles[0].engine, "vllm");
  for (std::size_t i = 0; i < kRoles; ++i) {
    EXPECT_FALSE(profiles[0].roles[i].empty()) << to_string(static_cast<Role>(i));
  }
  EXPECT_EQ(profiles[0].ports, std::vector<std::uint16_t>{8000});
}

TEST(EngineProfile, ReadsEveryPartOfTheFormat) {
  const auto parsed = parse_engine_profile(
      "e.yaml", profile(R"(
  completed_total:
    - sum_of:
        - {sample: e_started_total, drop: {kind: [health]}}
        - {sample: e_failed_total, scale: -1, absent: zero}
      deprecated: true
    - {sample: e_count, absent: zero_in_family, keep: {ok: "*", code: ["200", "201"]}}
  running:
    - {sample: e_running, fold: max_then_sum, max_over: [pid, rank], scale: 0.5}
)",
                        "ports: [80, 8080]\npath: /m\nmodel_labels: [m]\n"
                        "foreign_labels: [server]\n"
                        "warnings: [{sample: e_bad_total, text: so it is}]\n"));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const auto& completed = parsed->roles[static_cast<std::size_t>(Role::kCompletedTotal)];
  ASSERT_EQ(completed.size(), 2u);
  ASSERT_EQ(completed[0].terms.size(), 2u);
  EXPECT_TRUE(completed[0].deprecated);
  EXPECT_FALSE(completed[0].terms[0].filters[0].keep);
  EXPECT_EQ(completed[0].terms[1].scale, -1);
  EXPECT_EQ(completed[0].terms[1].absent, Absent::kZero);
  EXPECT_TRUE(completed[1].terms[0].filters[0].values.empty());
  EXPECT_EQ(completed[1].terms[0].filters[1].values, (std::vector<std::string>{"200", "201"}));
  const auto& running = parsed->roles[static_cast<std::size_t>(Role::kRunning)][0].terms[0];
  EXPECT_EQ(running.fold, Fold::kMaxThenSum);
  EXPECT_EQ(running.max_over, (std::vector<std::string>{"pid", "rank"}));
  EXPECT_EQ(parsed->ports, (std::vector<std::uint16_t>{80, 8080}));
  EXPECT_EQ(parsed->path, "/m");
  EXPECT_EQ(parsed->warnings[0].text, "so it is");
  EXPECT_EQ(wanted_sample_names({*parsed}),
            (std::vector<std::string>{"e_started_total", "e_failed_total", "e_count", "e_running",
                                      "e_bad_total"}));
}

TEST(EngineProfile, ErrorsNameFileLineAndKey) {
  const auto f = [](const std::string& text, const std::string& want, int line) {
    SCOPED_TRACE(line);
    const std::string got = error_of(text);
    EXPECT_NE(got.find(want), std::string::npos) << got;
    EXPECT_EQ(got.rfind("e.yaml:", 0), 0u) << got;
  };
  f("", "must be a map", __LINE__);
  f("schema: [1\n", "e.yaml:", __LINE__);
  f("schema: 1\nengine: e\n", "e.yaml:1: the key \"detect\" is missing", __LINE__);
  f(profile("  running: [{sample: e_r}]\n", "color: red\n"), "e.yaml:4: unknown key \"color\"",
    __LINE__);
  f(profile("  running: [{sample: e_r}]\n", "engine: f\n"),
    "e.yaml:4: the key \"engine\" stands there twice", __LINE__);
  f("schema: 2\nengine: e\ndetect: {rank: 1, prefixes: [e]}\nroles: {running: [{sample: e}]}\n",
    "e.yaml:1: schema: this version reads schema 1", __LINE__);
  f("schema: 1\nengine: E!\ndetect: {rank: 1, prefixes: [e]}\nroles: {running: [{sample: e}]}\n",
    "e.yaml:2: engine: \"E!\" must be", __LINE__);
  f("schema: 1\nengine: e\ndetect: {rank: x, prefixes: [e]}\nroles: {running: [{sample: e}]}\n",
    "e.yaml:3: detect.rank: must be a whole number", __LINE__);
  f("schema: 1\nengine: e\ndetect: {rank: 1, prefixes: []}\nroles: {running: [{sample: e}]}\n",
    "e.yaml:3: detect.prefixes: must be a list", __LINE__);
  f(profile("  speed: [{sample: e_r}]\n"), "e.yaml:5: roles: unknown role \"speed\"", __LINE__);
  f(profile("  running: [{sample: e_r}]\n  running: [{sample: e_r}]\n"),
    "e.yaml:6: roles.running: stands there twice", __LINE__);
  f(profile("  running: []\n"), "e.yaml:5: roles.running: must be a list", __LINE__);
  f(profile("  running: [{fold: sum}]\n"), "roles.running[0]: the key \"sample\" is missing",
    __LINE__);
  f(profile("  running: [{sample: \"a-b\"}]\n"),
    "roles.running[0].sample: \"a-b\" must be a sample name", __LINE__);
  f(profile("  running:\n    - sample: e_r\n      fold: avg\n"),
    "e.yaml:7: roles.running[0].fold: must be one of sum, max, max_then_sum", __LINE__);
  f(profile("  running: [{sample: e_r, fold: max_then_sum}]\n"),
    "roles.running[0].max_over: goes with", __LINE__);
  f(profile("  running: [{sample: e_r, max_over: [pid]}]\n"),
    "roles.running[0].max_over: goes with", __LINE__);
  f(profile("  running: [{sample: e_r, scale: 0}]\n"), "roles.running[0].scale: must be a number",
    __LINE__);
  f(profile("  running: [{sample: e_r, scale: .nan}]\n"),
    "roles.running[0].scale: must be a number", __LINE__);
  f(profile("  running: [{sample: e_r, scale: -1}]\n"), "roles.running[0].scale: below 0 is for",
    __LINE__);
  f(profile("  running: [{sample: e_r, absent: zero}]\n"), "roles.running[0].absent: zero is for",
    __LINE__);
  f(profile("  running: [{sum_of: [{sample: e_r, absent: zero}]}]\n"),
    "roles.running[0].sum_of: at least one", __LINE__);
  f(profile("  running: [{sum_of: [{sample: e_r}], fold: sum}]\n"), "unknown key \"fold\"",
    __LINE__);
  f(profile("  running: [{sample: e_r, keep: {a: []}}]\n"),
    "roles.running[0].keep.a: must be a list", __LINE__);
  f(profile("  running: [{sample: e_r, keep: {a: [x, \"*\"]}}]\n"),
    "roles.running[0].keep.a: any value", __LINE__);
  f(profile("  running: [{sample: e_r, keep: {a: [x]}, drop: {a: [y]}}]\n"),
    "roles.running[0].drop.a: the label has a filter", __LINE__);
  f(profile("  running: [{sample: e_r, keep: {\"a b\": [x]}}]\n"),
    "roles.running[0].keep: \"a b\" must be", __LINE__);
  f(profile("  running: [{sample: e_r, deprecated: 7}]\n"),
    "roles.running[0].deprecated: must be true", __LINE__);
  f(profile("  running: [{sample: e_r}]\n", "ports: [70000]\n"),
    "e.yaml:4: ports: must be a whole number", __LINE__);
  f(profile("  running: [{sample: e_r}]\n", "path: metrics\n"),
    "e.yaml:4: path: \"metrics\" must be a path", __LINE__);
  f(profile("  running: [{sample: e_r}]\n", "warnings: [{sample: e_r}]\n"),
    "the key \"text\" is missing", __LINE__);
}

TEST(EngineProfile, AHugeOrDeepTextIsRefused) {
  EXPECT_FALSE(parse_engine_profile("e.yaml", std::string(300u << 10, '#')).has_value());
  EXPECT_FALSE(parse_engine_profile("e.yaml", std::string(100'000, '[')).has_value());
}

TEST(Role, NamesAndFieldsMatch) {
  estimator::EngineSignals signals;
  signals.kv_usage = 0.5;
  signals.completed_total = 7;
  EXPECT_EQ(signal(signals, Role::kKvUsage), 0.5);
  EXPECT_EQ(signal(signals, Role::kCompletedTotal), 7);
  EXPECT_EQ(role_named("itl_seconds_sum"), Role::kItlSecondsSum);
  EXPECT_EQ(role_named("nosuch"), std::nullopt);
  for (std::size_t i = 0; i < kRoles; ++i) {
    const auto role = static_cast<Role>(i);
    EXPECT_EQ(role_named(to_string(role)), role);
  }
}

}  // namespace
}  // namespace loadline::provider
