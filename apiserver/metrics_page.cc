#include "apiserver/metrics_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace loadline::apiserver {
namespace {

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      break;
  }
  return "histogram";
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

void MetricsPage::family(std::string_view name, MetricType type, std::string_view help) {
  family_ = name;
  text_ += fmt::format("# HELP {} ", name);
  append_escaped(text_, help, false);
  text_ += fmt::format("\n# TYPE {} {}\n", name, type_name(type));
}

void MetricsPage::sample(double value, Labels labels, std::string_view suffix) {
  text_ += family_;
  text_ += suffix;
  if (labels.size() > 0) {
    text_ += '{';
    for (const auto& [label, text] : labels) {
      if (text_.back() != '{') text_ += ',';
      text_ += label;
      text_ += "=\"";
      append_escaped(text_, text, true);
      text_ += '"';
    }
    text_ += '}';
  }
  text_ += ' ';
  text_ += number(value);
  text_ += '\n';
}

void MetricsPage::counter(std::string_view name, std::string_view help, const Counter& counter) {
  family(name, MetricType::kCounter, help);
  sample(static_cast<double>(counter.value()));
}

void MetricsPage::gauge(std::string_view name, std::string_view help, double value) {
  family(name, MetricType::kGauge, help);
  sample(value);
}

void DurationHistogram::observe(double seconds) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  buckets_[static_cast<std::size_t>(bound - kBounds.begin())].add();
  sum_microseconds_.add(static_cast<std::uint64_t>(std::max(0.0, seconds) * 1e6));
}

std::uint64_t DurationHistogram::count() const {
  std::uint64_t count = 0;
  for (const Counter& bucket : buckets_) count += bucket.value();
  return count;
}

void DurationHistogram::write(MetricsPage& page, std::string_view label,
                              std::string_view value) const {
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    cumulative += buckets_[i].value();
    const std::string bound = i < kBounds.size() ? number(kBounds[i]) : "+Inf";
    page.sample(static_cast<double>(cumulative), {{label, value}, {"le", bound}}, "_bucket");
  }
  page.sample(static_cast<double>(sum_microseconds_.value()) / 1e6, {{label, value}}, "_sum");
  page.sample(static_cast<double>(cumulative), {{label, value}}, "_count");
}

void write_metrics(MetricsPage& page, const net::ServerMetrics& m) {
  page.gauge("loadline_http_server_connections", "Connections open to the HTTPS server.",
             m.connections.value());
  page.counter("loadline_http_server_connections_accepted_total", "Connections accepted.",
               m.connections_total);
  page.counter("loadline_http_server_connections_refused_total",
               "Connections refused because too many were open.", m.connections_refused_total);
  page.counter("loadline_http_server_handshake_failures_total", "TLS handshakes that failed.",
               m.handshake_failures_total);
  page.counter("loadline_http_server_requests_total", "Requests read.", m.requests_total);
  page.counter("loadline_http_server_bad_requests_total",
               "Requests refused as malformed, too large or too slow.", m.bad_requests_total);
}

void write_metrics(MetricsPage& page, const AuthenticationMetrics& m) {
  const auto value = [](const Counter& counter) { return static_cast<double>(counter.value()); };
  page.family("loadline_authentications_total", MetricType::kCounter,
              "Requests by how they were authenticated.");
  page.sample(value(m.front_proxy_total), {{"method", "front_proxy"}});
  page.sample(value(m.client_certificate_total), {{"method", "client_certificate"}});
  page.sample(value(m.token_total), {{"method", "token"}});
  page.sample(value(m.anonymous_total), {{"method", "anonymous"}});
  page.sample(value(m.refused_total), {{"method", "refused"}});
  page.counter("loadline_certificate_verifications_total", "Client certificates verified.",
               m.certificate_verifications_total);
  page.counter("loadline_certificate_cache_hits_total", "Verifications answered from the cache.",
               m.certificate_cache_hits_total);
  page.counter("loadline_token_reviews_total", "TokenReviews asked of the Kubernetes API.",
               m.token_reviews_total);
  page.counter("loadline_token_review_errors_total", "TokenReviews that got no answer.",
               m.token_review_errors_total);
  page.counter("loadline_token_cache_hits_total", "Tokens known from the cache.",
               m.token_cache_hits_total);
}

void write_metrics(MetricsPage& page, const AuthorizationMetrics& m) {
  const auto value = [](const Counter& counter) { return static_cast<double>(counter.value()); };
  page.family("loadline_authorizations_total", MetricType::kCounter, "Authorization decisions.");
  page.sample(value(m.privileged_total), {{"decision", "privileged"}});
  page.sample(value(m.open_path_total), {{"decision", "open_path"}});
  page.sample(value(m.allowed_total), {{"decision", "allowed"}});
  page.sample(value(m.denied_total), {{"decision", "denied"}});
  page.sample(value(m.errors_total), {{"decision", "error"}});
  page.counter("loadline_access_reviews_total", "SubjectAccessReviews asked of the Kubernetes API.",
               m.reviews_total);
  page.counter("loadline_access_review_cache_hits_total", "Decisions known from the cache.",
               m.cache_hits_total);
}

}  // namespace loadline::apiserver
