#include "kube/pod_file.h"

#include "base/file.h"
#include "base/log.h"
#include "kube/pod_cache.h"
#include "kube/pod_decode.h"
#include "kube/pod_yaml.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include <unordered_set>
#include <utility>

namespace loadline::kube {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kMostFileBytes = 16u << 20;
constexpr std::string_view kCure = "; expected is what `kubectl get pods -A -o yaml` prints";

// The pods of each document that is a list of pods; documents of other kinds are fine as long as
// there is one of ours.
Result<std::vector<PodPtr>> parse_documents(const std::vector<std::string>& documents) {
  std::vector<PodPtr> pods;
  bool found = false;
  std::string first_error = "it is empty";
  for (const auto& document : documents) {
    auto list = decode_pod_list(document, Encoding::kJson);
    if (!list) {
      if (&document == &documents.front()) first_error = list.error().message;
      continue;
    }
    if (list->malformed > 0) return Error(Code::kBadRequest, list->malformed_reason);
    found = true;
    pods.insert(pods.end(), list->pods.begin(), list->pods.end());
  }
  if (!found) return Error(Code::kBadRequest, first_error);
  return pods;
}

Result<std::vector<PodPtr>> parse_text(const std::string& text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  // JSON is read as such: YAML's parser is slow, and its errors about JSON are odd.
  const bool json = start != std::string::npos && text[start] == '{';
  auto documents =
      json ? Result<std::vector<std::string>>(std::vector<std::string>{text}) : yaml_to_json(text);
  if (!documents) return documents.error();
  return parse_documents(*documents);
}

Status check_unique(const std::vector<PodPtr>& pods) {
  std::unordered_set<std::string> names, uids;
  for (const auto& pod : pods) {
    if (!names.insert(pod_ref(*pod)).second) {
      return Error(Code::kBadRequest, fmt::format("pod {} is there twice", pod_ref(*pod)));
    }
    if (!uids.insert(pod->uid).second) {
      return Error(Code::kBadRequest, fmt::format("pod {} has the uid of another pod, {:.64}",
                                                  pod_ref(*pod), pod->uid));
    }
  }
  return {};
}

Result<PodSet> parse_pod_file(const std::string& path, const std::string& text) {
  auto pods = parse_text(text);
  if (!pods)
    return Error(Code::kBadRequest,
                 fmt::format("pod file {}: {}{}", path, pods.error().message, kCure));
  if (const auto unique = check_unique(*pods); !unique) {
    return Error(Code::kBadRequest,
                 fmt::format("pod file {}: {}; remove one", path, unique.error().message));
  }
  PodCache cache;
  for (auto& pod : *pods) cache.apply(std::move(pod));
  PodSet set;
  set.synced = true;
  set.pods = cache.sorted();
  return set;
}

Result<std::string> read_pod_file(const std::string& path) {
  auto text = read_file(path, kMostFileBytes);
  if (!text) return Error(text.error().code, fmt::format("pod file: {}", text.error().message));
  return text;
}

}  // namespace

Result<PodSet> load_pod_file(const std::string& path) {
  const auto text = read_pod_file(path);
  if (!text) return text.error();
  return parse_pod_file(path, *text);
}

PodFile::PodFile(std::string path, std::chrono::milliseconds poll_interval)
    : path_(std::move(path)), poll_interval_(poll_interval) {}

asio::awaitable<void> PodFile::run(Listener listener) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  try {
    for (;;) {
      poll(listener);
      timer.expires_after(poll_interval_);
      const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
      if (error) co_return;
    }
  } catch (const boost::system::system_error& error) {
    // How Asio ends a cancelled coroutine at its next co_await.
    if (error.code() != asio::error::operation_aborted) throw;
  }
}

bool PodFile::poll(const Listener& listener) {
  const auto old = snapshot_.get();
  const auto text = read_pod_file(path_);
  std::optional<Result<PodSet>> read;
  if (!text) {
    content_hash_.reset();
    read = text.error();
  } else if (const std::size_t hash = std::hash<std::string>()(*text); hash != content_hash_) {
    // The bytes decide: times and sizes of files lie when a file is written twice in a moment.
    content_hash_ = hash;
    read = parse_pod_file(path_, *text);
  } else {
    return false;
  }
  auto set = std::make_shared<PodSet>(*old);
  if (*read) {
    *set = std::move(**read);
    log_info("pod file read", kv("path", path_), kv("pods", set->pods.size()));
  } else {
    const std::string& problem = read->error().message;
    if (problem == old->problem) return false;
    set->problem = problem;
    log_warning("pod file not usable, the pods stay as they were", kv("problem", problem));
  }
  const std::shared_ptr<const PodSet> published = std::move(set);
  snapshot_.publish(published);
  if (listener) listener(published);
  return true;
}

}  // namespace loadline::kube
