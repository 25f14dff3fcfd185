#include "apiserver/negotiation.h"

#include <gtest/gtest.h>

namespace loadline::apiserver {
namespace {

TEST(Negotiation, JsonIsTakenWhereverAnyClauseTakesIt) {
  for (const std::string_view accept :
       {"", " ", "*/*", "application/json", "APPLICATION/JSON", "application/*",
        "application/vnd.kubernetes.protobuf, */*",
        "application/vnd.kubernetes.protobuf,application/json", "application/json, */*",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
        "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
        "text/html, application/json;q=0.1", "application/json;charset=utf-8",
        "application/json;stream=watch", "nonsense,application/json", "application/json;q=0",
        "application/json;q=junk"}) {
    EXPECT_TRUE(negotiate(accept).has_value()) << accept;
  }
}

TEST(Negotiation, WhatWeDoNotHaveIsRefused) {
  for (const std::string_view accept :
       {"text/html", "application/vnd.kubernetes.protobuf",
        "application/json;as=Table;v=v1;g=meta.k8s.io", "nonsense", "image/*", "/json", "*/json"}) {
    EXPECT_FALSE(negotiate(accept).has_value()) << accept;
  }
}

TEST(Negotiation, ClausesComeByFallingQualityOtherwiseInOrder) {
  const auto clauses = parse_accept("a/a;q=0.2, b/b, c/c;q=0.9;x=1, d/d");
  ASSERT_EQ(clauses.size(), 4u);
  EXPECT_EQ(clauses[0].type, "b");
  EXPECT_EQ(clauses[1].type, "d");
  EXPECT_EQ(clauses[2].type, "c");
  EXPECT_EQ(clause_parameter(clauses[2], "x"), "1");
  EXPECT_EQ(clauses[3].type, "a");
}

TEST(Negotiation, AFloodOfClausesIsCut) {
  std::string accept;
  for (int i = 0; i < 5000; ++i) accept += "a/b,";
  EXPECT_EQ(parse_accept(accept).size(), 64u);
}

TEST(Negotiation, SeveralAcceptHeadersAreOne) {
  const net::Headers headers = {
      {"Accept", "text/html"}, {"Host", "x"}, {"accept", "application/json"}};
  EXPECT_EQ(accept_header(headers), "text/html,application/json");
}

TEST(Negotiation, PeopleGetPrettyAnswers) {
  const std::string yes = "1", yes_too = "true", no = "false", odd = "junk";
  const net::Headers curl = {{"User-Agent", "curl/7.88.1"}},
                     kubectl = {{"User-Agent", "kubectl/v1.36.2"}};
  EXPECT_TRUE(wants_pretty(&yes, kubectl));
  EXPECT_TRUE(wants_pretty(&yes_too, {}));
  EXPECT_FALSE(wants_pretty(&odd, {}));
  EXPECT_TRUE(wants_pretty(nullptr, curl));
  EXPECT_FALSE(wants_pretty(&no, curl));
  EXPECT_FALSE(wants_pretty(nullptr, kubectl));
  EXPECT_FALSE(wants_pretty(nullptr, {}));
}

}  // namespace
}  // namespace loadline::apiserver
