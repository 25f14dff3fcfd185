#include "apiserver/metric_value_list.h"

#include "apiserver/json_text.h"
#include "kube/quantity.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>

namespace loadline::apiserver {
namespace {

void append_expression(std::string& out, std::string_view key, std::string_view op,
                       const std::vector<std::string>& values) {
  if (!out.empty()) out += ',';
  out += R"({"key":)";
  append_json_string(out, key);
  out += R"(,"operator":")";
  out += op;
  out += '"';
  if (!values.empty()) {
    out += R"(,"values":[)";
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += ',';
      append_json_string(out, values[i]);
    }
    out += ']';
  }
  out += '}';
}

std::string selector_object(const std::map<std::string, std::string>& labels,
                            const std::string& expressions) {
  std::string out = "{";
  if (!labels.empty()) {
    out += R"("matchLabels":{)";
    for (const auto& [key, value] : labels) {
      if (out.back() != '{') out += ',';
      append_json_string(out, key);
      out += ':';
      append_json_string(out, value);
    }
    out += '}';
  }
  if (!expressions.empty()) {
    if (!labels.empty()) out += ',';
    out += R"("matchExpressions":[)" + expressions + ']';
  }
  return out + '}';
}

// The pods of an answer were scraped within few intervals: the text of each second is made once.
class TimestampText {
 public:
  const std::string& of(WallTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const auto count = static_cast<std::uint64_t>(seconds.time_since_epoch().count());
    Entry& entry = entries_[count % entries_.size()];
    if (entry.text.empty() || entry.seconds != count) {
      entry.seconds = count;
      entry.text = rfc3339(seconds);
    }
    return entry.text;
  }

 private:
  struct Entry {
    std::uint64_t seconds = 0;
    std::string text;
  };
  std::array<Entry, 64> entries_;
};

void append_window(std::string& out, std::string_view member, const provider::MetricValue& value) {
  if (!value.window) return;
  out += ",\"";
  out += member;
  out += "\":";
  out += std::to_string(value.window->count());
}

}  // namespace

std::optional<CustomVersion> custom_version(std::string_view version) {
  if (version == "v1beta1") return CustomVersion::kV1Beta1;
  if (version == "v1beta2") return CustomVersion::kV1Beta2;
  return std::nullopt;
}

Result<std::string> label_selector_json(const kube::LabelSelector& selector) {
  if (selector.empty()) return std::string("null");
  std::map<std::string, std::string> labels;
  std::string expressions;
  for (const kube::SelectorRequirement& r : selector.requirements()) {
    switch (r.op) {
      case kube::SelectorOperator::kEquals:
      case kube::SelectorOperator::kDoubleEquals:
        labels[r.key] = r.values.empty() ? std::string() : r.values.front();
        break;
      case kube::SelectorOperator::kIn:
        append_expression(expressions, r.key, "In", r.values);
        break;
      case kube::SelectorOperator::kNotIn:
      case kube::SelectorOperator::kNotEquals:
        append_expression(expressions, r.key, "NotIn", r.values);
        break;
      case kube::SelectorOperator::kExists:
        append_expression(expressions, r.key, "Exists", {});
        break;
      case kube::SelectorOperator::kDoesNotExist:
        append_expression(expressions, r.key, "DoesNotExist", {});
        break;
      case kube::SelectorOperator::kGreaterThan:
      case kube::SelectorOperator::kLessThan:
        return Error(
            Code::kBadRequest,
            fmt::format("metricLabelSelector: '>' and '<' (here on {}) are not supported", r.key));
    }
  }
  return selector_object(labels, expressions);
}

std::string pod_metric_list_json(CustomVersion version, std::string_view namespace_name,
                                 std::string_view metric, std::string_view selector_json,
                                 const std::vector<provider::PodMetricItem>& items) {
  const bool first_version = version == CustomVersion::kV1Beta1;
  std::string before_name = R"({"describedObject":{"kind":"Pod","namespace":)";
  append_json_string(before_name, namespace_name);
  before_name += R"(,"name":)";
  std::string after_name = R"(,"apiVersion":"v1"},)";
  after_name += first_version ? R"("metricName":)" : R"("metric":{"name":)";
  append_json_string(after_name, metric);
  if (!first_version) {
    after_name += R"(,"selector":)";
    after_name += selector_json;
    after_name += '}';
  }
  after_name += R"(,"timestamp":")";

  std::string out = R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/)";
  out.reserve(160 +
              items.size() * (before_name.size() + after_name.size() + selector_json.size() + 128));
  out += first_version ? "v1beta1" : "v1beta2";
  out += R"(","metadata":{},"items":[)";
  TimestampText timestamps;
  for (const provider::PodMetricItem& item : items) {
    if (out.back() != '[') out += ',';
    out += before_name;
    append_json_string(out, item.pod);
    out += after_name;
    out += timestamps.of(item.value.timestamp);
    out += '"';
    append_window(out, first_version ? "window" : "windowSeconds", item.value);
    out += R"(,"value":")";
    out += kube::format_quantity(item.value.value);
    out += '"';
    if (first_version) {
      out += R"(,"selector":)";
      out += selector_json;
    }
    out += '}';
  }
  out += "]}\n";
  return out;
}

}  // namespace loadline::apiserver
