#include "cmd/demo_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace loadline::cmd {
namespace {

std::optional<double> value_of(const provider::Reading& reading, provider::PodMetric metric) {
  const auto& value = reading.values[static_cast<std::size_t>(metric)];
  return value ? std::optional<double>(value->value) : std::nullopt;
}

std::string cell(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : std::string("-");  // unknown is no 0
}

// Adds what is known; stays unknown while nothing is.
void add(std::optional<double>& sum, std::optional<double> value) {
  if (value) sum = sum.value_or(0) + *value;
}

}  // namespace

std::string DemoTable::plot(const std::string& pod, double in_flight) {
  static constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::deque<double>& past = history_[pod];
  past.push_back(in_flight);
  if (past.size() > kPlotWidth) past.pop_front();
  const double most = std::max(8.0, *std::max_element(past.begin(), past.end()));
  std::string text;
  for (const double v : past)
    text += kBars[std::min<std::size_t>(7, static_cast<std::size_t>(v / most * 7.999))];
  return text;
}

std::string DemoTable::render(const provider::View& view, SteadyTime now) {
  using provider::PodMetric;
  std::string text =
      fmt::format("{:<22} {:>9} {:>8} {:>7} {:>10} {:>9}  {}\n", "POD", "IN FLIGHT", "WAITING",
                  "DONE/S", "CAPACITY/S", "MESSAGES", "IN FLIGHT OVER TIME");
  std::optional<double> in_flight, waiting, done, capacity;
  for (const auto& reading : view.readings) {
    const provider::LeftOut why = provider::left_out_at(*reading, now);
    if (why != provider::LeftOut::kNot) {
      text += fmt::format("{:<22} left out: {}\n", kube::pod_ref(*reading->pod),
                          provider::to_string(why));
      continue;
    }
    const auto pod_in_flight = value_of(*reading, PodMetric::kRequestsInFlight);
    const auto pod_waiting = value_of(*reading, PodMetric::kRequestsWaiting);
    const auto pod_done = value_of(*reading, PodMetric::kCompletionsPerSecond);
    const auto pod_capacity = value_of(*reading, PodMetric::kCapacity);
    text += fmt::format("{:<22} {:>9} {:>8} {:>7} {:>10} {:>9}  {}\n", kube::pod_ref(*reading->pod),
                        cell(pod_in_flight, 0), cell(pod_waiting, 0), cell(pod_done, 2),
                        cell(pod_capacity, 2),
                        cell(value_of(*reading, PodMetric::kCapacityMessages), 1),
                        plot(reading->pod->uid, pod_in_flight.value_or(0)));
    add(in_flight, pod_in_flight);
    add(waiting, pod_waiting);
    add(done, pod_done);
    add(capacity, pod_capacity);
  }
  text += fmt::format("{:<22} {:>9} {:>8} {:>7} {:>10}\n", "all", cell(in_flight, 0),
                      cell(waiting, 0), cell(done, 2), cell(capacity, 2));
  if (!capacity) text += "(capacity comes after 30 s of busy samples)\n";
  return text;
}

}  // namespace loadline::cmd
