#include "apiserver/metrics_page.h"

#include <gtest/gtest.h>

#include <limits>

namespace loadline::apiserver {
namespace {

TEST(MetricsPage, FamiliesAreWrittenAsPrometheusReadsThem) {
  MetricsPage page;
  Counter counter;
  counter.add(3);
  page.counter("x_total", "What \\ it\ncounts.", counter);
  page.gauge("y", "A level.", 0.25);
  page.family("z", MetricType::kGauge, "Labels.");
  page.sample(1, {{"a", "q\"\\\n"}, {"b", ""}});
  page.sample(std::numeric_limits<double>::infinity(), {{"a", "inf"}});
  EXPECT_EQ(
      page.take(),
      "# HELP x_total What \\\\ it\\ncounts.\n# TYPE x_total counter\nx_total 3\n"
      "# HELP y A level.\n# TYPE y gauge\ny 0.25\n"
      "# HELP z Labels.\n# TYPE z gauge\nz{a=\"q\\\"\\\\\\n\",b=\"\"} 1\nz{a=\"inf\"} +Inf\n");
}

TEST(MetricsPage, HistogramBucketsAreCumulativeAndEndInInf) {
  DurationHistogram histogram;
  histogram.observe(0.0005);
  histogram.observe(0.003);
  histogram.observe(60);
  MetricsPage page;
  page.family("d_seconds", MetricType::kHistogram, "h");
  histogram.write(page, "route", "r");
  const std::string text = page.take();
  EXPECT_NE(text.find("d_seconds_bucket{route=\"r\",le=\"0.0005\"} 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("d_seconds_bucket{route=\"r\",le=\"0.005\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("d_seconds_bucket{route=\"r\",le=\"5\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("d_seconds_bucket{route=\"r\",le=\"+Inf\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("d_seconds_sum{route=\"r\"} 60.0035\n"), std::string::npos) << text;
  EXPECT_NE(text.find("d_seconds_count{route=\"r\"} 3\n"), std::string::npos) << text;
}

TEST(MetricsPage, EveryComponentWritesItsFamilies) {
  MetricsPage page;
  write_metrics(page, net::ServerMetrics());
  write_metrics(page, AuthenticationMetrics());
  write_metrics(page, AuthorizationMetrics());
  const std::string text = page.take();
  for (const char* name : {"loadline_http_server_connections 0",
                           "loadline_authentications_total{method=\"front_proxy\"} 0",
                           "loadline_authorizations_total{decision=\"denied\"} 0"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace loadline::apiserver
