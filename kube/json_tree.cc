#include "kube/json_tree.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace loadline::kube {
namespace {

using Json = nlohmann::json;
using Kind = JsonValue::Kind;

class Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(const JsonWanted& wanted, const std::function<void(const JsonValue&)>& on_item)
      : wanted_(wanted), on_item_(on_item) {}

  Result<JsonValue> read(std::string_view text) {
    const bool good = Json::sax_parse(text.begin(), text.end(), this);
    if (!error_.empty()) return Error(Code::kBadRequest, error_);
    if (!good || root_.kind != Kind::kObject) {
      return Error(Code::kBadRequest, "the JSON document is no object");
    }
    return std::move(root_);
  }

  bool null() override { return scalar(JsonValue()); }
  bool boolean(bool value) override {
    JsonValue scalar_value;
    scalar_value.kind = Kind::kBool;
    scalar_value.flag = value;
    return scalar(std::move(scalar_value));
  }
  bool number_integer(std::int64_t value) override {
    JsonValue scalar_value;
    scalar_value.kind = Kind::kInteger;
    scalar_value.integer = value;
    return scalar(std::move(scalar_value));
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value <= INT64_MAX) return number_integer(static_cast<std::int64_t>(value));
    return number_float(0, {});
  }
  bool number_float(double, const std::string&) override {
    JsonValue scalar_value;
    scalar_value.kind = Kind::kNumber;
    return scalar(std::move(scalar_value));
  }
  bool string(std::string& value) override {
    JsonValue scalar_value;
    scalar_value.kind = Kind::kText;
    scalar_value.text = std::move(value);
    return scalar(std::move(scalar_value));
  }
  bool binary(Json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Kind::kObject); }
  bool start_array(std::size_t) override { return open(Kind::kList); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (skipped_depth_ > 0) return true;
    key_ = std::move(name);
    is_wanted_ = levels_.back().free_keys ||
                 std::binary_search(wanted_.keys.begin(), wanted_.keys.end(), key_);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    // The library's text begins with its own number in brackets.
    const std::string_view what = e.what();
    const auto start = what.find("] ");
    error_ = fmt::format("no JSON at byte {}: {:.160}", position,
                         start == std::string_view::npos ? what : what.substr(start + 2));
    return false;
  }

 private:
  struct Level {
    JsonValue* value;
    bool free_keys = false;
    bool items = false;  // the list whose elements are handed over
  };

  bool in_object() const { return !levels_.empty() && levels_.back().value->kind == Kind::kObject; }
  bool skipping() const { return skipped_depth_ > 0 || (in_object() && !is_wanted_); }

  // Where the value now lies; null: one too many.
  JsonValue* place(JsonValue value) {
    if (++values_ > kMostJsonValues) {
      error_ = fmt::format("an object of more than {} values", kMostJsonValues);
      return nullptr;
    }
    if (levels_.empty()) return &(root_ = std::move(value));
    JsonValue& parent = *levels_.back().value;
    if (parent.kind == Kind::kList) return &parent.items.emplace_back(std::move(value));
    JsonMember member{std::move(key_), std::move(value)};
    return &parent.members.emplace_back(std::move(member)).value;
  }

  bool scalar(JsonValue value) {
    if (skipping()) return true;
    if (!levels_.empty() && levels_.back().items) {
      on_item_(value);
      return true;
    }
    return place(std::move(value)) != nullptr;
  }

  bool open(Kind kind) {
    if (levels_.size() + skipped_depth_ >= kMostJsonDepth) {
      error_ = fmt::format("nested deeper than {} levels", kMostJsonDepth);
      return false;
    }
    if (skipping()) {
      ++skipped_depth_;
      return true;
    }
    const bool member = in_object();
    const bool free_keys = member && std::find(wanted_.free_keys.begin(), wanted_.free_keys.end(),
                                               key_) != wanted_.free_keys.end();
    const bool items =
        on_item_ && levels_.size() == 1 && member && key_ == "items" && kind == Kind::kList;
    JsonValue value;
    value.kind = kind;
    JsonValue* const placed = place(std::move(value));
    if (placed == nullptr) return false;
    if (items) values_before_items_ = values_;
    levels_.push_back({placed, free_keys, items});
    return true;
  }

  bool close() {
    if (skipped_depth_ > 0) {
      --skipped_depth_;
      return true;
    }
    levels_.pop_back();
    if (!levels_.empty() && levels_.back().items) {
      on_item_(levels_.back().value->items.back());
      levels_.back().value->items.clear();
      values_ = values_before_items_;
    }
    return true;
  }

  const JsonWanted& wanted_;
  const std::function<void(const JsonValue&)>& on_item_;
  JsonValue root_;
  std::vector<Level> levels_;
  std::string key_, error_;
  bool is_wanted_ = true;
  std::size_t skipped_depth_ = 0;  // containers open inside a member that is not wanted
  std::size_t values_ = 0, values_before_items_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto last = std::find_if(members.rbegin(), members.rend(),
                                 [key](const JsonMember& member) { return member.key == key; });
  return last == members.rend() ? nullptr : &last->value;
}

Result<JsonValue> read_json(std::string_view text, const JsonWanted& wanted,
                            const std::function<void(const JsonValue&)>& on_item) {
  return Reader(wanted, on_item).read(text);
}

}  // namespace loadline::kube
