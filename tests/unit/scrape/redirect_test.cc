#include "scrape/redirect.h"

#include <gtest/gtest.h>

namespace loadline::scrape {
namespace {

TEST(Redirect, LeadsToAnotherPathOfTheSameServerAndNowhereElse) {
  const auto f = [](std::string_view location, std::string_view want, int at) {
    EXPECT_EQ(redirect_target("10.1.2.3", 8000, "/metrics", location).value_or("refused"), want)
        << "line " << at << ": " << location;
  };
  f("http://10.1.2.3:8000/metrics/", "/metrics/", __LINE__);
  f("HTTP://10.1.2.3:8000/metrics/", "/metrics/", __LINE__);
  f("//10.1.2.3:8000/m", "/m", __LINE__);
  f("/metrics/", "/metrics/", __LINE__);
  f("metrics/", "/metrics/", __LINE__);
  f("./metrics/?a=b%20c#top", "/metrics/?a=b%20c", __LINE__);
  f("a/../x", "/x", __LINE__);
  f("http://10.1.2.3:8000", "/", __LINE__);
  f("?x=1", "/metrics?x=1", __LINE__);

  f("https://10.1.2.3:8000/metrics/", "refused", __LINE__);
  f("http://10.1.2.3:8001/metrics/", "refused", __LINE__);
  f("http://10.1.2.3/metrics/", "refused", __LINE__);
  f("http://10.1.2.3:/metrics/", "refused", __LINE__);
  f("http://10.1.2.4:8000/metrics/", "refused", __LINE__);
  f("http://169.254.169.254/latest", "refused", __LINE__);
  f("//169.254.169.254:8000/latest", "refused", __LINE__);
  f("http://localhost:8000/metrics/", "refused", __LINE__);
  f("http://10.1.2.3:8000@evil/metrics/", "refused", __LINE__);
  f("http://u@10.1.2.3:8000/metrics/", "refused", __LINE__);
  f("http://10.1.2.3.evil:8000/metrics/", "refused", __LINE__);
  f("http:/metrics/", "refused", __LINE__);
  f("file:///etc/passwd", "refused", __LINE__);
  f("/a\r\nX-Evil: 1", "refused", __LINE__);
  f("/a b", "refused", __LINE__);
  f("http://10.1.2.3:99999/", "refused", __LINE__);
  f("/" + std::string(3000, 'a'), "refused", __LINE__);
}

TEST(Redirect, AnEmptyLocationIsThePageItself) {
  EXPECT_EQ(redirect_target("10.1.2.3", 8000, "/metrics", "").value_or("refused"), "/metrics");
}

TEST(Redirect, Ipv6AndTheUsualPortCompareAsAddressesDo) {
  EXPECT_EQ(redirect_target("2001:db8::1", 8000, "/m", "http://[2001:DB8:0::1]:8000/n")
                .value_or("refused"),
            "/n");
  EXPECT_EQ(redirect_target("2001:db8::1", 8000, "/m", "http://[2001:db8::2]:8000/n"),
            std::nullopt);
  EXPECT_EQ(redirect_target("10.1.2.3", 80, "/m", "http://10.1.2.3/n").value_or("refused"), "/n");
}

TEST(Redirect, TheQueryOfThePageMayBeUnencodedAndIsNotCarriedOver) {
  EXPECT_EQ(redirect_target("10.1.2.3", 80, "/metrics?name[]=x", "metrics/").value_or("refused"),
            "/metrics/");
}

}  // namespace
}  // namespace loadline::scrape
