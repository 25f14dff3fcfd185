#include "sim/arrivals.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

namespace loadline::sim {
namespace {

std::vector<std::string_view> split(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

template <class Number>
bool parse(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc{} && end == text.data() + text.size();
}

constexpr std::array<std::string_view, 4> kColumns = {"t_s", "in_tok", "out_tok", "prefix_tok"};

// Of each column its place in the row, or none.
using Places = std::array<std::optional<std::size_t>, kColumns.size()>;

std::optional<Places> places(std::string_view header) {
  Places result;
  const std::vector<std::string_view> names = split(header);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto column = std::find(kColumns.begin(), kColumns.end(), names[i]);
    if (column == kColumns.end()) return std::nullopt;
    result[static_cast<std::size_t>(column - kColumns.begin())] = i;
  }
  if (!result[0] || !result[1] || !result[2]) return std::nullopt;
  return result;
}

bool parse_row(std::string_view line, const Places& at, TraceRow* row) {
  const std::vector<std::string_view> cells = split(line);
  for (const auto& place : at) {
    if (place && *place >= cells.size()) return false;
  }
  return parse(cells[*at[0]], &row->t_s) && std::isfinite(row->t_s) &&
         parse(cells[*at[1]], &row->request.input_tokens) &&
         parse(cells[*at[2]], &row->request.output_tokens) &&
         (!at[3] || parse(cells[*at[3]], &row->request.prefix_tokens));
}

}  // namespace

PoissonArrivals::PoissonArrivals(std::uint64_t seed) : random_(seed), left_(draw()) {}

double PoissonArrivals::draw() { return std::exponential_distribution<double>(1.0)(random_); }

std::optional<double> PoissonArrivals::next(double from_s, double to_s, double rate_per_s) {
  if (!(rate_per_s > 0) || !(to_s > from_s)) return std::nullopt;
  const double expected = rate_per_s * (to_s - from_s);
  if (expected < left_) {
    left_ -= expected;
    return std::nullopt;
  }
  const double at_s = std::min(to_s, from_s + left_ / rate_per_s);
  left_ = draw();
  return at_s;
}

RequestSizes small_requests() {
  RequestSizes sizes;
  sizes.mean_input_tokens = 512;
  sizes.mean_output_tokens = 64;
  sizes.sigma = 0.5;
  sizes.most_tokens = 2048;
  return sizes;
}

Request RequestMix::next() {
  Request request;
  request.input_tokens = draw(sizes_.mean_input_tokens);
  request.output_tokens = draw(sizes_.mean_output_tokens);
  return request;
}

int RequestMix::draw(double mean) {
  const double location = std::log(mean) - sizes_.sigma * sizes_.sigma / 2;
  const double normal = std::normal_distribution<double>()(random_);
  const double tokens = std::round(std::exp(location + sizes_.sigma * normal));
  return static_cast<int>(std::clamp<double>(tokens, 1, sizes_.most_tokens));
}

std::optional<std::vector<TraceRow>> parse_trace(std::istream& in, std::string* error) {
  constexpr std::size_t kMostRows = 1'000'000;
  std::string line;
  const auto fail = [&](std::size_t number, const char* why) {
    *error = "line " + std::to_string(number) + ": " + why;
    return std::nullopt;
  };
  if (!std::getline(in, line)) return fail(1, "the trace is empty");
  const std::optional<Places> at = places(line);
  if (!at) return fail(1, "the header must name t_s, in_tok, out_tok and perhaps prefix_tok");
  std::vector<TraceRow> rows;
  while (std::getline(in, line)) {
    if (rows.size() == kMostRows) return fail(rows.size() + 2, "more than a million rows");
    TraceRow row;
    if (!parse_row(line, *at, &row)) return fail(rows.size() + 2, "not a row of numbers");
    rows.push_back(row);
  }
  return rows;
}

}  // namespace loadline::sim
