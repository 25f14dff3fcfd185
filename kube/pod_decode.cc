#include "kube/pod_decode.h"

#include "kube/pod_json.h"
#include "kube/pod_protobuf.h"

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

namespace loadline::kube {
namespace {

// Two digits, or four for the year; moves on. -1: no such number.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value);
  if (error != std::errc() || end != text.data() + count || value < 0) return -1;
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// "Z" or "+hh:mm": seconds east of UTC.
std::optional<int> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return 0;
  const bool east = !text.empty() && text.front() == '+';
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const int hours = take_digits(text, 2);
  if (!take(text, ':')) return std::nullopt;
  const int minutes = take_digits(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (east ? 1 : -1) * (hours * 3600 + minutes * 60);
}

}  // namespace

Encoding encoding_of(std::string_view content_type) {
  constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
  auto type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  const bool protobuf =
      std::equal(type.begin(), type.end(), kProtobufType.begin(), kProtobufType.end(),
                 [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
  return protobuf ? Encoding::kProtobuf : Encoding::kJson;
}

Result<PodList> decode_pod_list(std::string_view bytes, Encoding encoding) {
  return encoding == Encoding::kProtobuf ? decode_pod_list_protobuf(bytes)
                                         : decode_pod_list_json(bytes);
}

ApiStatus decode_status(std::string_view body) {
  if (auto status = is_protobuf(body) ? decode_status_protobuf(body) : decode_status_json(body)) {
    return std::move(*status);
  }
  constexpr std::size_t kMostWords = 200;
  ApiStatus status;
  status.message = std::string(body.substr(0, kMostWords));
  while (!status.message.empty() && static_cast<unsigned char>(status.message.back()) <= ' ') {
    status.message.pop_back();
  }
  return status;
}

PodPhase parse_phase(std::string_view text) {
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

Result<PodPtr> finish_pod(Pod pod) {
  if (pod.name.empty()) return Error(Code::kBadRequest, "a pod has no metadata.name");
  if (pod.uid.empty()) pod.uid = pod_ref(pod);
  if (!pod.pod_ip.empty()) {
    boost::system::error_code error;
    boost::asio::ip::make_address(pod.pod_ip, error);
    if (error || pod.pod_ip.find('%') != std::string::npos) {
      return Error(Code::kBadRequest,
                   fmt::format("pod {}: status.podIP \"{:.64}\" is no IP address", pod_ref(pod),
                               pod.pod_ip));
    }
  }
  return std::make_shared<const Pod>(std::move(pod));
}

void add_port(Pod& pod, std::string_view container, std::string_view name, std::int64_t number,
              std::string_view protocol) {
  if (number < 1 || number > 65535 || (!protocol.empty() && protocol != "TCP")) return;
  pod.ports.push_back(
      {std::string(container), std::string(name), static_cast<std::uint16_t>(number)});
}

WallTime wall_time(std::int64_t unix_seconds) {
  // The system clock counts nanoseconds in 64 bits: 292 years around 1970.
  constexpr std::int64_t kMost = 9'200'000'000;
  return WallTime(std::chrono::seconds(std::clamp(unix_seconds, -kMost, kMost)));
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  const int year = take_digits(text, 4);
  if (!take(text, '-')) return std::nullopt;
  const int month = take_digits(text, 2);
  if (!take(text, '-')) return std::nullopt;
  const int day = take_digits(text, 2);
  if (!take(text, 'T') && !take(text, 't')) return std::nullopt;
  const int hour = take_digits(text, 2);
  if (!take(text, ':')) return std::nullopt;
  const int minute = take_digits(text, 2);
  if (!take(text, ':')) return std::nullopt;
  const int second = take_digits(text, 2);
  if (take(text, '.')) {
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
  }
  const auto offset = take_offset(text);
  if (year < 0 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60 || !offset || !text.empty()) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return wall_time(days * 86'400 + hour * 3'600 + minute * 60 + second - *offset);
}

}  // namespace loadline::kube
