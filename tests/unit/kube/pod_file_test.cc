#include "kube/pod_file.h"

#include "base/file.h"
#include "base/task_group.h"
#include "kube/pod_yaml.h"
#include "tests/unit/kube/pod_fixture.h"

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace loadline::kube {
namespace {

using testing::HasSubstr;

constexpr std::string_view kYamlList = R"(apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      prometheus.io/port: "8000"
      prometheus.io/scrape: 'true'
    creationTimestamp: "2026-01-02T03:04:05Z"
    labels: {app: llm, "yes": "no"}
    name: b
    namespace: ns
    resourceVersion: "12"
    uid: "2"
  spec:
    containers:
    - args:
      - |
        a text: with
        - lines
      name: engine
      ports:
      - containerPort: 8000
        name: http
        protocol: TCP
    hostNetwork: false
    nodeName: n1
  status:
    conditions:
    - lastTransitionTime: "2026-01-02T03:04:08Z"
      status: "True"
      type: Ready
    phase: Running
    podIP: 10.0.0.2
- kind: Pod
  metadata: {name: a, namespace: ns, uid: "1"}
kind: List
metadata:
  resourceVersion: ""
)";

class PodFileTest : public testing::Test {
 protected:
  PodFileTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("pod_file_" + std::to_string(::getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())),
        path((folder_ / "pods.yaml").string()) {
    std::filesystem::create_directories(folder_);
  }
  ~PodFileTest() override { std::filesystem::remove_all(folder_); }

  void write(std::string_view text) const { ASSERT_TRUE(write_file(path, std::string(text))); }
  std::string error(std::string_view text) const {
    write(text);
    const auto set = load_pod_file(path);
    return set ? "" : set.error().message;
  }
  static std::string shown(const PodSet& set) {
    return names(set.pods) + (set.problem.empty() ? "" : " " + set.problem);
  }

 private:
  std::filesystem::path folder_;

 protected:
  std::string path;
};

TEST_F(PodFileTest, ReadsWhatKubectlPrintsAsYaml) {
  write(kYamlList);
  const auto set = load_pod_file(path);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_TRUE(set->synced);
  ASSERT_EQ(names(set->pods), "{a1,b2}");
  EXPECT_EQ(describe(*set->pods[1]),
            "ns/b uid=2 version=12 phase=2 ready=1 since=2026-01-02T03:04:08Z "
            "created=2026-01-02T03:04:05Z started=- "
            "deleted=- node=n1 ip=10.0.0.2 host=0 label:app=llm label:yes=no "
            "annotation:prometheus.io/port=8000 "
            "annotation:prometheus.io/scrape=true port:engine/http/8000");
}

TEST_F(PodFileTest, ReadsJsonListsAndSinglePods) {
  write("\n  " + json_list({{"b", "2", "5"}, {"a", "1", "5"}}, "9"));
  EXPECT_EQ(names(load_pod_file(path)->pods), "{a1,b2}");
  write(json_pod({"a", "1", "5"}));
  EXPECT_EQ(names(load_pod_file(path)->pods), "{a1}");
}

TEST_F(PodFileTest, ReadsSeveralYamlDocumentsAndLeavesOtherKindsOut) {
  const std::string without_last = std::string(kYamlList.substr(0, kYamlList.find("- kind: Pod"))) +
                                   std::string(kYamlList.substr(kYamlList.find("kind: List")));
  write(
      "---\nkind: Service\nmetadata: {name: s}\n---\nkind: Pod\nmetadata: {name: a, uid: "
      "\"1\"}\n---\n# nothing\n---\n" +
      without_last);
  const auto set = load_pod_file(path);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(names(set->pods), "{a1,b2}");
}

TEST_F(PodFileTest, PodsWithoutUidAreKnownByTheirNames) {
  write(
      "kind: PodList\nitems:\n- metadata: {name: a, namespace: x}\n- metadata: {name: a, "
      "namespace: y}\n");
  const auto set = load_pod_file(path);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(names(set->pods), "{ax/a,ay/a}");
}

TEST_F(PodFileTest, ErrorsNameTheFileThePlaceAndTheCure) {
  const auto missing = load_pod_file(path + ".not-there");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message,
            "pod file: cannot read " + path + ".not-there: No such file or directory");

  const std::string cure = "; expected is what `kubectl get pods -A -o yaml` prints";
  EXPECT_EQ(error(""), "pod file " + path + ": it is empty" + cure);
  EXPECT_EQ(error("engines:\n- a\n"),
            "pod file " + path + ": it has no kind: neither a Pod nor a PodList nor a List" + cure);
  EXPECT_EQ(error("kind: Deployment\n"),
            "pod file " + path + ": kind \"Deployment\" instead of Pod, PodList or List" + cure);
  EXPECT_THAT(error("kind: List\nitems: [\n"), HasSubstr(path + ": line "));
  EXPECT_THAT(error("{\"kind\":\"List\""), HasSubstr(path + ": no JSON at byte "));
  EXPECT_EQ(
      error("kind: Pod\nmetadata:\n  name: a\n  annotations:\n    prometheus.io/port: 8000\n"),
      "pod file " + path + ": pod /a: annotations.prometheus.io/port must be a string (quote it)" +
          cure);
  EXPECT_EQ(error(json_list({{"a", "1", "5"}, {"b", "1", "5"}}, "9")),
            "pod file " + path + ": pod ns/b has the uid of another pod, 1; remove one");
  EXPECT_EQ(error(json_list({{"a", "1", "5"}, {"a", "2", "5"}}, "9")),
            "pod file " + path + ": pod ns/a is there twice; remove one");
}

TEST_F(PodFileTest, HostileYamlIsRefused) {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    const char before = static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) bomb += std::string(i > 0 ? ",*" : "*") + before;
    bomb += "]\n";
  }
  EXPECT_THAT(error(bomb), HasSubstr("line 1: anchors and aliases are not taken"));
  EXPECT_THAT(error("a: &x 1\nb: *x\n"), HasSubstr("line 1: anchors and aliases are not taken"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "- ";
  EXPECT_THAT(error(deep + "x\n"), HasSubstr("nested too deep"));
  EXPECT_THAT(error(std::string(1'000'000, '[')),
              HasSubstr("line 1: too long, or too many open brackets"));
  EXPECT_THAT(error("a: " + std::string(1'000'000, '{')),
              HasSubstr("line 1: too long, or too many open brackets"));
  EXPECT_THAT(error("a:\n- [" + std::string(2'000'000, ',')), HasSubstr("line 2: too long"));
  EXPECT_NE(error(std::string(500, '[')), "");
  // Found by fuzzing: the parser goes round for ever.
  EXPECT_THAT(error(std::string("a: b\nr,\0\0\0\xc2", 11)),
              HasSubstr("line 2: a control character (0x00) in YAML"));
  std::string documents;
  for (int i = 0; i < 10'001; ++i) documents += "---\na\n";
  EXPECT_THAT(error(documents), HasSubstr("more than 10000 YAML documents"));
  EXPECT_THAT(error("? [a, b]\n: c\n"), HasSubstr("a key must be a plain text"));
  EXPECT_THAT(error("kind: Pod\n" + std::string(17u << 20, '#')), HasSubstr("larger than"));
}

TEST_F(PodFileTest, ABrokenFileKeepsTheLastGoodPods) {
  std::vector<std::string> heard;
  const PodSource::Listener listener = [&](const auto& set) { heard.push_back(shown(*set)); };
  PodFile file(path);
  EXPECT_FALSE(file.snapshot()->synced);
  EXPECT_TRUE(file.poll(listener));
  EXPECT_FALSE(file.poll(listener)) << "the same problem is told once";
  EXPECT_FALSE(file.snapshot()->synced);
  EXPECT_THAT(file.snapshot()->problem, HasSubstr("No such file"));

  write(kYamlList);
  EXPECT_TRUE(file.poll(listener));
  EXPECT_EQ(shown(*file.snapshot()), "{a1,b2}");
  EXPECT_FALSE(file.poll(listener));

  write("kind: Deployment\n");
  EXPECT_TRUE(file.poll(listener));
  EXPECT_FALSE(file.poll(listener));
  EXPECT_TRUE(file.snapshot()->synced);
  EXPECT_THAT(shown(*file.snapshot()), testing::StartsWith("{a1,b2} pod file "));

  write(kYamlList);
  EXPECT_TRUE(file.poll(listener));
  EXPECT_EQ(shown(*file.snapshot()), "{a1,b2}");

  std::filesystem::remove(path);
  EXPECT_TRUE(file.poll(listener));
  EXPECT_THAT(shown(*file.snapshot()), testing::StartsWith("{a1,b2} pod file: cannot read "));

  write(json_list({{"a", "9", "1"}}, "1"));
  EXPECT_TRUE(file.poll(listener));
  EXPECT_EQ(shown(*file.snapshot()), "{a9}");
  EXPECT_EQ(heard.size(), 6U);
}

TEST_F(PodFileTest, RunFollowsChangesUntilCancelled) {
  write(json_list({{"a", "1", "1"}}, "1"));
  boost::asio::io_context context;
  PodFile file(path, std::chrono::milliseconds(1));
  TaskGroup group(context.get_executor());
  std::string heard;
  group.spawn("pods", file.run([&](const auto& set) {
    heard += shown(*set);
    if (set->pods.size() == 1) return write(json_list({{"a", "1", "1"}, {"b", "2", "1"}}, "1"));
    group.cancel();
  }));
  context.run();
  EXPECT_EQ(heard, "{a1}{a1,b2}");
  EXPECT_EQ(group.size(), 0U);
}

TEST(PodYaml, PlainScalarsHaveTheTypesOfTheCoreSchema) {
  const auto f = [](const std::string& yaml, std::string_view want) {
    const auto json = yaml_to_json(yaml);
    ASSERT_TRUE(json) << json.error().message;
    ASSERT_EQ(json->size(), 1U);
    EXPECT_EQ(json->front(), want) << yaml;
  };
  f("[a, 'b', \"c\", 1, -2.5e3, '1']", R"(["a","b","c",1,-2.5e3,"1"])");
  f("[true, False, 'true', yes]", R"([true,false,"true","yes"])");
  f("[null, ~, '', 'null']", R"([null,null,"","null"])");
  f("[0x10, 010, .5, 1., +1, 1e, -, 1_000]", R"(["0x10","010",".5","1.","+1","1e","-","1_000"])");
  f("{a: {b: [], c: {}}, 1: x, true: y, d: }",
    R"({"a":{"b":[],"c":{}},"1":"x","true":"y","d":null})");
  f("[1e99, 1e400, 1234567890123456789012345]", R"([1e99,"1e400","1234567890123456789012345"])");
  f("a: |\n  x\n  y\n", R"({"a":"x\ny\n"})");
  f("a: !!str 5\n", R"({"a":"5"})");
}

}  // namespace
}  // namespace loadline::kube
