#include "kube/pod_informer.h"

#include "base/log.h"
#include "kube/watch_frame.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace loadline::kube {

namespace asio = boost::asio;

namespace {

constexpr int kPageLimit = 500;
constexpr std::string_view kAccept = "application/vnd.kubernetes.protobuf, application/json";

asio::awaitable<void> wait_on_timer(std::chrono::milliseconds duration) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, duration);
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

// Continue tokens are base64 text, versions are opaque: whatever is not plainly harmless is
// escaped.
std::string query_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

ListWatch::Failure failure_of(int status, const ApiStatus& told) {
  ListWatch::Failure failure;
  failure.status = status;
  if (told.retry_after) failure.retry_after = *told.retry_after;
  return failure;
}

// What a person has to do about an HTTP status.
std::string explain(std::string_view verb, int status, const ApiStatus& told,
                    const std::string& namespace_name) {
  const std::string words = told.message.empty() ? told.reason : told.message;
  std::string cure;
  if (status == 403) {
    cure = namespace_name.empty()
               ? "; add get, list, watch on pods to the ClusterRole of this service account"
               : fmt::format(
                     "; add get, list, watch on pods to the Role of this service account in "
                     "namespace {}",
                     namespace_name);
  } else if (status == 401) {
    cure = "; check the token or the client certificate";
  }
  return fmt::format("cannot {} pods: HTTP {}: {:.300}{}", verb, status, words, cure);
}

}  // namespace

// One watch under way.
struct PodInformer::Stream {
  std::optional<WatchFrameDecoder> decoder;  // empty until the answer is 200
  std::vector<WatchEvent> events;
  ApiStatus refusal;
  bool given_up = false;  // on_data returned false: the machine knows why
};

PodInformer::PodInformer(Transport& transport, const Clock& clock, Options options)
    : transport_(transport),
      clock_(clock),
      options_(std::move(options)),
      path_(options_.namespace_name.empty()
                ? std::string("/api/v1/pods")
                : fmt::format("/api/v1/namespaces/{}/pods", query_escape(options_.namespace_name))),
      random_(options_.seed),
      machine_(options_.policy, options_.seed) {
  if (!options_.pause) options_.pause = wait_on_timer;
}

asio::awaitable<void> PodInformer::run(Listener listener) {
  listener_ = std::move(listener);
  try {
    co_await follow();
  } catch (const boost::system::system_error& error) {
    // How Asio ends a cancelled coroutine at its next co_await.
    if (error.code() != asio::error::operation_aborted) throw;
  }
  listener_ = nullptr;
}

asio::awaitable<void> PodInformer::follow() {
  for (;;) {
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return;
    ListWatch::Action action = machine_.next(clock_.steady_now());
    if (action.step == ListWatch::Step::kWait) {
      co_await options_.pause(action.wait);
    } else if (action.step == ListWatch::Step::kList) {
      co_await list(std::move(action.continue_token));
    } else {
      co_await watch(std::move(action.resource_version));
    }
  }
}

asio::awaitable<void> PodInformer::list(std::string continue_token) {
  std::string target = fmt::format("{}?limit={}", path_, kPageLimit);
  if (continue_token.empty()) {
    metrics_.lists_total.add();
  } else {
    target += "&continue=" + query_escape(continue_token);
  }
  std::string method = "GET", accept(kAccept), no_body;
  const Result<ApiResponse> response = co_await transport_.request(
      std::move(method), std::move(target), std::move(accept), std::move(no_body));
  // What a cancelled request says is no news of the server.
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  if (cancellation.cancelled() != asio::cancellation_type::none) co_return;
  if (!response) {
    list_failed({}, fmt::format("cannot list pods: {}", response.error().message));
  } else if (response->status != 200) {
    const ApiStatus told = decode_status(response->body);
    list_failed(failure_of(response->status, told),
                explain("list", response->status, told, options_.namespace_name));
  } else {
    take_page(*response);
  }
  publish();
}

void PodInformer::list_failed(const ListWatch::Failure& failure, const std::string& why) {
  metrics_.list_failures_total.add();
  machine_.list_failed(failure, clock_.steady_now());
  // An expired page is answered by a new list, and nobody need know.
  if (failure.status != 410) tell(why);
}

void PodInformer::take_page(const ApiResponse& response) {
  auto page = decode_pod_list(response.body, encoding_of(response.content_type));
  if (!page)
    return list_failed(
        {}, fmt::format("cannot list pods: unreadable answer: {:.300}", page.error().message));
  if (page->malformed > 0) {
    metrics_.malformed_pods_total.add(page->malformed);
    log_warning("pods of a list cannot be read and are left out", kv("count", page->malformed),
                kv("first", page->malformed_reason));
  }
  const auto complete = machine_.list_page(std::move(*page), clock_.steady_now());
  if (!complete) {
    metrics_.list_failures_total.add();
    tell(fmt::format("cannot list pods: {}", complete.error().message));
  } else if (*complete) {
    tell("");
    log_info("pods listed", kv("pods", machine_.pods().size()));
  }
}

asio::awaitable<void> PodInformer::watch(std::string resource_version) {
  // Between four and eight minutes, so that a fleet of clients does not come back in step.
  std::uniform_int_distribution<int> seconds(240, 480);
  std::string target =
      fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                  path_, query_escape(resource_version), seconds(random_));
  std::string accept(kAccept);
  Stream stream;
  Transport::StreamSink sink;
  sink.on_open = [&](const std::string& content_type) {
    stream.decoder.emplace(encoding_of(content_type));
    machine_.watch_opened(clock_.steady_now());
    tell("");
    publish();
  };
  sink.on_data = [&](std::string_view bytes) {
    take_chunk(stream, bytes);
    publish();
    return !stream.given_up;
  };
  sink.on_error_body = [&](std::string body) { stream.refusal = decode_status(body); };
  metrics_.watches_total.add();
  const Result<int> ended = co_await transport_.stream(std::move(target), std::move(accept), sink);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  if (cancellation.cancelled() != asio::cancellation_type::none) co_return;
  if (!stream.given_up) finish_watch(stream, ended);
  publish();
}

void PodInformer::take_chunk(Stream& stream, std::string_view bytes) {
  if (!stream.decoder) return;
  stream.events.clear();
  const Status status = stream.decoder->feed(bytes, stream.events);
  const SteadyTime now = clock_.steady_now();
  metrics_.watch_events_total.add(stream.events.size());
  for (const WatchEvent& event : stream.events) {
    if (machine_.watch_event(event, now)) continue;
    stream.given_up = true;
    metrics_.watch_failures_total.add();
    log_info("watch of pods ended by the server", kv("code", event.status.code),
             kv("message", event.status.message));
    return;
  }
  if (status) return;
  stream.given_up = true;
  metrics_.watch_failures_total.add();
  machine_.watch_malformed(now);
  tell(fmt::format("cannot watch pods: unreadable answer: {:.300}", status.error().message));
}

void PodInformer::finish_watch(const Stream& stream, const Result<int>& ended) {
  const SteadyTime now = clock_.steady_now();
  if (ended && *ended == 200) return machine_.watch_ended(now);
  metrics_.watch_failures_total.add();
  if (ended) {
    machine_.watch_failed(failure_of(*ended, stream.refusal), now);
    if (*ended != 410) tell(explain("watch", *ended, stream.refusal, options_.namespace_name));
    return;
  }
  machine_.watch_failed({}, now);
  // A stream that was cut is resumed at once; only if that fails, too, there is something to tell.
  if (!stream.decoder) tell(fmt::format("cannot watch pods: {}", ended.error().message));
}

// Sets the problem, logged when it changes.
void PodInformer::tell(std::string problem) {
  if (problem == problem_) return;
  problem_ = std::move(problem);
  if (problem_.empty()) {
    log_info("the Kubernetes API answers again");
  } else {
    log_warning("pods are not followed", kv("problem", problem_));
  }
}

void PodInformer::publish() {
  const auto old = snapshot_.get();
  if (published_changes_ == machine_.changes() && old->problem == problem_) return;
  auto set = std::make_shared<PodSet>();
  set->synced = machine_.synced();
  set->pods = published_changes_ == machine_.changes() ? old->pods : machine_.pods().sorted();
  set->problem = problem_;
  published_changes_ = machine_.changes();
  const std::shared_ptr<const PodSet> published = std::move(set);
  snapshot_.publish(published);
  if (listener_) listener_(published);
}

}  // namespace loadline::kube
