#include "cmd/replay.h"

#include "base/nearest_name.h"
#include "estimator/classic.h"
#include "estimator/publisher_aggregation.h"
#include "provider/role.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace loadline::cmd {
namespace {

using estimator::EngineSignals;
using estimator::Estimate;

constexpr std::string_view kTime = "t_s";

struct Column {
  std::string_view name;
  std::optional<provider::Role> role;  // nothing: t_s
};

std::optional<Column> column_named(std::string_view name) {
  if (name == kTime) return Column{kTime, std::nullopt};
  const auto role = provider::role_named(name);
  return role ? std::optional(Column{provider::to_string(*role), role}) : std::nullopt;
}

Error bad_request(std::string message) { return Error(Code::kBadRequest, std::move(message)); }

// What to do about a name that is none: the nearest one, where there is one near.
std::string column_advice(std::string_view name) {
  std::vector<std::string> names{std::string(kTime)};
  for (std::size_t i = 0; i < provider::kRoles; ++i) {
    names.emplace_back(provider::to_string(static_cast<provider::Role>(i)));
  }
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? fmt::format("the signals are {}", fmt::join(names, ", "))
                         : fmt::format("did you mean \"{}\"?", nearest);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Text shown in a message: what a CSV says may be long.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return fmt::format("\"{}{}\"", text.substr(0, kMost), text.size() > kMost ? "…" : "");
}

class Table {
 public:
  Table(std::string name, std::istream& in) : name_(std::move(name)), in_(in) {}

  Status read_header() {
    Result<bool> line = next_line();
    if (!line) return line.error();
    if (!*line) {
      return bad_request(fmt::format(
          "{}: the file is empty; its first line must name the columns, t_s among them", name_));
    }
    if (line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
    for (const std::string_view name : cells_of(line_)) {
      if (Status added = add_column(name); !added) return added;
    }
    const auto is_time = [](const Column& column) { return !column.role; };
    if (std::none_of(columns_.begin(), columns_.end(), is_time)) {
      return bad_request(fmt::format(
          "{}: line 1: there is no column t_s; add the time of each row, in seconds", name_));
    }
    return {};
  }

  // The next row; nothing at the end. Empty lines are passed over.
  Result<std::optional<EngineSignals>> next() {
    do {
      Result<bool> line = next_line();
      if (!line) return line.error();
      if (!*line) return std::optional<EngineSignals>();
    } while (trimmed(line_).empty());
    const std::vector<std::string_view> cells = cells_of(line_);
    if (cells.size() != columns_.size()) {
      return bad_request(fmt::format(
          "{}: line {}: {} cells under {} columns; leave the cell of an unknown signal empty, "
          "but keep its comma",
          name_, number_, cells.size(), columns_.size()));
    }
    EngineSignals signals;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (Status read = read_cell(cells[i], columns_[i], signals); !read) return read.error();
    }
    return std::optional(signals);
  }

 private:
  Status add_column(std::string_view name) {
    const auto named = [&](const Column& column) { return column.name == name; };
    const std::optional<Column> column = column_named(name);
    if (!column) {
      return bad_request(fmt::format(
          "{}: line 1, column {}: {} is no signal; {} Rename the column or leave it out", name_,
          columns_.size() + 1, shown(name), column_advice(name)));
    }
    if (std::any_of(columns_.begin(), columns_.end(), named)) {
      return bad_request(fmt::format("{}: line 1, column {}: {} is there twice; keep one of them",
                                     name_, columns_.size() + 1, shown(name)));
    }
    columns_.push_back(*column);
    return {};
  }

  Status read_cell(std::string_view cell, const Column& column, EngineSignals& signals) const {
    if (cell.empty()) {
      if (column.role) return {};
      return bad_request(
          fmt::format("{}: line {}, column t_s: the cell is empty; every row needs its time in "
                      "seconds",
                      name_, number_));
    }
    double value = 0;
    const std::string_view digits = cell.starts_with('+') ? cell.substr(1) : cell;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = end == digits.data() + digits.size();
    if (error == std::errc::result_out_of_range || (whole && !std::isfinite(value))) {
      return bad_cell(cell, column,
                      "is out of range; leave the cell empty where there is no value");
    }
    if (error != std::errc{} || !whole) {
      return bad_cell(cell, column, "is not a number; write it like 12 or 0.5, or leave it empty");
    }
    if (column.role) {
      provider::signal(signals, *column.role) = value;
    } else {
      signals.t_s = value;
    }
    return {};
  }

  Error bad_cell(std::string_view cell, const Column& column, std::string_view why) const {
    return bad_request(fmt::format("{}: line {}, column {}: {} {}", name_, number_, column.name,
                                   shown(cell), why));
  }

  // false: the end.
  Result<bool> next_line() {
    constexpr std::size_t kMostBytes = 64u << 10;
    line_.clear();
    ++number_;
    for (int c = in_.get(); c != std::istream::traits_type::eof(); c = in_.get()) {
      if (c == '\n') {
        if (line_.ends_with('\r')) line_.pop_back();
        return true;
      }
      if (line_.size() == kMostBytes) {
        return Error(
            Code::kTooLarge,
            fmt::format("{}: line {}: longer than {} bytes; is this a CSV with a row a line?",
                        name_, number_, kMostBytes));
      }
      line_.push_back(static_cast<char>(c));
    }
    if (in_.bad()) return bad_request(name_ + ": reading failed; is it a file that can be read?");
    if (line_.ends_with('\r')) line_.pop_back();
    return !line_.empty();
  }

  std::string name_;
  std::istream& in_;
  std::string line_;
  std::size_t number_ = 0;  // of line_, from 1
  std::vector<Column> columns_;
};

Status check(const ReplayOptions& options) {
  if (options.estimator != "classic") {
    return bad_request(
        fmt::format("unknown estimator {}; known: classic", shown(options.estimator)));
  }
  if (!estimator::parse_aggregation(options.aggregation)) {
    return bad_request(
        fmt::format("unknown aggregation {}; known: last, lifetime_max, max, mean, pNN (p90)",
                    shown(options.aggregation)));
  }
  for (const auto& [name, value] : {std::pair("window", options.window_s),
                                    {"warm-up", options.warmup_s},
                                    {"multiplier", options.multiplier}}) {
    if (!std::isfinite(value) || value < 0) {
      return bad_request(fmt::format("the {} is {}; it must be 0 or above", name, value));
    }
  }
  if (!(options.percentile >= 0 && options.percentile <= 1)) {
    return bad_request(
        fmt::format("the percentile is {}; it must be within 0 and 1", options.percentile));
  }
  return {};
}

estimator::ClassicOptions classic_options(const ReplayOptions& options) {
  estimator::ClassicOptions classic;
  classic.window_s = options.window_s;
  classic.warmup_s = options.warmup_s;
  classic.multiplier = options.multiplier;
  classic.percentile = options.percentile;
  classic.min_ticks = options.min_ticks;
  return classic;
}

std::string row_json(const Estimate& estimate, std::optional<double> capacity) {
  const std::string figure = capacity ? fmt::format("{}", *capacity) : "null";
  return fmt::format(
      R"({{"t_s":{},"capacity":{},"lower":{},"upper":{},"quality":"{}","reason":"{}"}})",
      estimate.t_s, figure, figure, figure, to_string(estimate.quality),
      to_string(estimate.reason));
}

}  // namespace

Status replay(const ReplayOptions& options, std::istream& in, std::ostream& out) {
  if (Status checked = check(options); !checked) return checked;
  Table table(options.input, in);
  if (Status header = table.read_header(); !header) return header;
  estimator::Classic classic(classic_options(options));
  estimator::PublisherAggregation published(*estimator::parse_aggregation(options.aggregation),
                                            options.window_s);
  for (;;) {
    Result<std::optional<EngineSignals>> row = table.next();
    if (!row) return row.error();
    if (!*row) return {};
    const Estimate estimate = classic.update(**row);
    if (estimate.quality == estimator::Quality::kMeasured) {
      published.publish(estimate.t_s, *estimate.capacity_messages);
    }
    out << row_json(estimate, published.value()) << '\n';
  }
}

}  // namespace loadline::cmd
