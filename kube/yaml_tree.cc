#include "kube/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <utility>

namespace loadline::kube {
namespace {

// Thrown through the parser, which knows no other way to stop.
struct Refusal : YAML::Exception {
  using YAML::Exception::Exception;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const YamlLimits& limits) : limits_(limits) {}

  YamlNodePtr root() const { return root_ ? root_ : std::make_shared<const YamlNode>(); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    place(mark, make(mark, YamlNode::Kind::kNull), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = make(mark, YamlNode::Kind::kScalar);
    node->scalar = value;
    place(mark, std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    // An anchor is known once its node is complete.
    if (known == anchors_.end())
      throw Refusal(mark, "an alias stands inside of what it stands for");
    count(mark);
    place(mark, known->second, 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, YamlNode::Kind::kSequence, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, YamlNode::Kind::kMap, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor = 0;
    YAML::Mark mark;
    std::optional<std::string> key;  // of the value that comes next in a map
  };

  void count(const YAML::Mark& mark) {
    if (++nodes_ > limits_.nodes) {
      throw Refusal(mark, fmt::format("more than {} values", limits_.nodes));
    }
  }

  std::shared_ptr<YamlNode> make(const YAML::Mark& mark, YamlNode::Kind kind) {
    count(mark);
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    return node;
  }

  void open(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor) {
    if (open_.size() >= limits_.depth) {
      throw Refusal(mark, fmt::format("nested deeper than {}", limits_.depth));
    }
    if (expects_key()) throw Refusal(mark, "a key is not plain text");
    open_.push_back({make(mark, kind), anchor, mark, std::nullopt});
  }

  void close() {
    const Open done = std::move(open_.back());
    open_.pop_back();
    place(done.mark, done.node, done.anchor);
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node->kind == YamlNode::Kind::kMap && !open_.back().key;
  }

  void place(const YAML::Mark& mark, YamlNodePtr node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (expects_key()) {
      if (node->kind != YamlNode::Kind::kScalar) throw Refusal(mark, "a key is not plain text");
      open_.back().key = node->scalar;
    } else if (Open& parent = open_.back(); parent.key) {
      const auto [at, is_new] = parent.node->fields.emplace(*parent.key, std::move(node));
      if (!is_new) throw Refusal(mark, fmt::format("the key \"{}\" is there twice", at->first));
      parent.key.reset();
    } else {
      parent.node->items.push_back(std::move(node));
    }
  }

  const YamlLimits limits_;
  std::size_t nodes_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNodePtr> anchors_;
  YamlNodePtr root_;
};

// The scanner looks ahead over a whole row of open brackets and keeps them all, before anybody can
// object.
bool opens_too_many_brackets(const std::string& text) {
  constexpr int kMost = 1000;
  int open = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMost) return true;
  }
  return false;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto it = fields.find(key);
  return it == fields.end() || it->second->kind == Kind::kNull ? nullptr : it->second.get();
}

Result<YamlNodePtr> parse_yaml(const std::string& text, const YamlLimits& limits) {
  if (opens_too_many_brackets(text)) return Error(Code::kBadRequest, "too many open brackets");
  TreeBuilder builder(limits);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& e) {
    return Error(Code::kBadRequest, fmt::format("line {}: {}", e.mark.line + 1, e.msg));
  }
  return builder.root();
}

}  // namespace loadline::kube
