#include "apiserver/health.h"

#include <gtest/gtest.h>

namespace loadline::apiserver {
namespace {

class HealthTest : public ::testing::Test {
 protected:
  HealthAnswer ask(std::string_view endpoint, std::string_view check = "",
                   const QueryParameters& query = {}) {
    return health_.answer(endpoint, check, query).value();
  }

  bool synced_ = false;
  Health health_{{HealthCheck{"scraping", [] { return Status(); }}},
                 {HealthCheck{"informer-sync", [this] {
                                return synced_ ? Status()
                                               : Status(Error(Code::kUnavailable, "secret words"));
                              }}}};
};

TEST_F(HealthTest, AFailingCheckIsNamedAndItsReasonWithheld) {
  const HealthAnswer answer = ask("readyz");
  EXPECT_EQ(answer.http_status, 500);
  EXPECT_EQ(answer.text,
            "[+]ping ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n");
  synced_ = true;
  EXPECT_EQ(ask("readyz").http_status, 200);
  EXPECT_EQ(ask("readyz").text, "ok");
}

TEST_F(HealthTest, LivenessDoesNotDependOnReadiness) {
  EXPECT_EQ(ask("livez").http_status, 200);
  EXPECT_EQ(ask("healthz", "", {{"verbose", ""}}).text,
            "[+]ping ok\n[+]scraping ok\nhealthz check passed\n");
}

TEST_F(HealthTest, ChecksCanBeExcluded) {
  const HealthAnswer answer =
      ask("readyz", "", {{"exclude", "informer-sync"}, {"exclude", "nosuch"}, {"verbose", "1"}});
  EXPECT_EQ(answer.http_status, 200);
  EXPECT_EQ(answer.text,
            "[+]ping ok\n[+]informer-sync excluded: ok\nwarn: some health checks cannot be "
            "excluded: no matches for "
            "\"nosuch\"\nreadyz check passed\n");
}

TEST_F(HealthTest, OneCheckCanBeAskedFor) {
  EXPECT_EQ(ask("readyz", "ping").text, "ok");
  EXPECT_EQ(ask("readyz", "informer-sync").http_status, 500);
  EXPECT_EQ(ask("readyz", "informer-sync").text.find("secret"), std::string::npos);
  EXPECT_FALSE(health_.answer("readyz", "nosuch", {}).has_value());
  EXPECT_FALSE(health_.answer("livez", "informer-sync", {}).has_value());
}

}  // namespace
}  // namespace loadline::apiserver
