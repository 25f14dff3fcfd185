#include "cmd/simulated_fleet.h"

#include "base/log.h"
#include "sim/vllm_page.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace loadline::cmd {
namespace {

namespace asio = boost::asio;

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

std::string to_text(const HostPort& at) {
  const bool v6 = at.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", at.host, at.port) : fmt::format("{}:{}", at.host, at.port);
}

Result<HostPort> parse_address(std::string_view text) {
  const Error wrong(Code::kBadRequest,
                    fmt::format("\"{}\" is no address; write IP:PORT, like 127.0.0.1:8000", text));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  HostPort result;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (error != std::errc{} || end != port.data() + port.size()) return wrong;
  boost::system::error_code no_ip;
  asio::ip::make_address(host, no_ip);
  if (no_ip) return wrong;
  result.host = host;
  return result;
}

net::ServerResponse response(int status, std::string body) {
  net::ServerResponse result;
  result.status = status;
  result.content_type = "text/plain; version=0.0.4; charset=utf-8";
  result.body = std::make_shared<const std::string>(std::move(body));
  return result;
}

double unix_seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

constexpr std::chrono::milliseconds kNoDrain{0};

}  // namespace

SimulatedFleetOptions::SimulatedFleetOptions() {
  fleet.engine = sim::demo_engine();
  fleet.sizes = sim::small_requests();
}

SimulatedFleet::SimulatedFleet(asio::any_io_executor executor, const Clock& clock,
                               SimulatedFleetOptions options)
    : executor_(executor),
      clock_(clock),
      options_(std::move(options)),
      start_s_(to_seconds(clock.steady_now())),
      fleet_(options_.fleet, 0),
      tasks_(executor) {
  tasks_.spawn("simulated fleet", drive());
}

SimulatedFleet::~SimulatedFleet() = default;

Result<std::string> SimulatedFleet::add(const std::string& address,
                                        std::chrono::milliseconds delay) {
  const Result<HostPort> at = parse_address(address);
  if (!at) return at.error();
  const bool delayed = delay.count() > 0;
  if (at->port == 0 && delayed) {
    return Error(Code::kBadRequest, address + ": a delayed engine needs its port; name one");
  }
  if (at->port != 0 && find(to_text(*at)) != doors_.end()) {
    return Error(Code::kConflict, address + " is there already; remove it first");
  }
  advance();
  const int number = next_number_++;
  Door& door = doors_[number];
  door.address = to_text(*at);
  fleet_.add(std::to_string(number), std::chrono::duration<double>(delay).count());
  if (!delayed) {
    if (Status opened = open(number, door); !opened) {
      fleet_.remove(std::to_string(number));
      doors_.erase(number);
      return opened.error();
    }
  }
  return door.address;
}

asio::awaitable<Status> SimulatedFleet::remove(std::string address) {
  const Result<HostPort> at = parse_address(address);
  if (!at) co_return at.error();
  const auto found = find(to_text(*at));
  if (found == doors_.end()) {
    co_return Error(Code::kNotFound, address + " is no engine of this fleet");
  }
  advance();
  fleet_.remove(std::to_string(found->first));
  const std::unique_ptr<net::HttpServer> server = std::move(found->second.server);
  doors_.erase(found);
  if (server) co_await server->stop(kNoDrain);
  co_return Status();
}

Status SimulatedFleet::set_rate(double per_s) {
  if (!(per_s >= 0 && per_s <= kMostRate)) {
    return Error(Code::kBadRequest,
                 fmt::format("the rate is {}; it must be within 0 and {} requests a second", per_s,
                             kMostRate));
  }
  advance();
  fleet_.set_rate(per_s);
  return {};
}

void SimulatedFleet::set_rate(std::function<double(double)> per_s) {
  advance();
  fleet_.set_rate([rate = std::move(per_s)](double t_s) { return std::min(rate(t_s), kMostRate); });
}

std::vector<SimulatedEngine> SimulatedFleet::engines() const {
  std::vector<SimulatedEngine> result;
  for (const auto& [number, door] : doors_) {
    SimulatedEngine shown;
    shown.address = door.address;
    const sim::Fleet::Member* member = fleet_.find(std::to_string(number));
    if (member != nullptr && member->engine && door.server) {
      const sim::EngineGauges& gauges = member->engine->gauges();
      shown.ready = true;
      shown.running = gauges.running;
      shown.waiting = gauges.waiting;
      shown.kv_usage = gauges.kv_usage;
      shown.completed = member->engine->completed();
    }
    result.push_back(std::move(shown));
  }
  return result;
}

asio::awaitable<void> SimulatedFleet::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  Doors doors = std::exchange(doors_, {});
  for (auto& [number, door] : doors) {
    fleet_.remove(std::to_string(number));
    if (door.server) co_await door.server->stop(kNoDrain);
  }
}

asio::awaitable<void> SimulatedFleet::drive() {
  asio::steady_timer timer(executor_);
  for (;;) {
    timer.expires_after(options_.tick);
    const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
    advance();
  }
}

asio::awaitable<net::ServerResponse> SimulatedFleet::answer(
    std::shared_ptr<const net::ServerRequest> request, int number) {
  const std::string path = request->target.substr(0, request->target.find('?'));
  if (request->method != "GET") co_return response(405, "only GET is served\n");
  if (path == "/health") co_return response(200, "");
  if (path != "/metrics") co_return response(404, "only /metrics and /health are served\n");
  advance();  // so that the page is of this moment, not of the last tick
  const auto door = doors_.find(number);
  const sim::Fleet::Member* member = fleet_.find(std::to_string(number));
  if (door == doors_.end() || member == nullptr || !member->engine) {
    co_return response(503, "the engine is going\n");
  }
  sim::PageOptions page;
  page.model_name = options_.model_name;
  page.start_unix_s = door->second.start_unix_s;
  co_return response(200, sim::vllm_page(*member->engine, page));
}

void SimulatedFleet::advance() {
  fleet_.advance_to(to_seconds(clock_.steady_now()) - start_s_);
  open_ready_doors();
}

void SimulatedFleet::open_ready_doors() {
  for (auto it = doors_.begin(); it != doors_.end();) {
    auto& [number, door] = *it;
    const sim::Fleet::Member* member = fleet_.find(std::to_string(number));
    if (!door.server && member != nullptr && member->engine) {
      if (Status opened = open(number, door); !opened) {
        log_error("simulated engine dropped", kv("address", door.address),
                  kv("error", opened.error().message));
        fleet_.remove(std::to_string(number));
        it = doors_.erase(it);
        continue;
      }
    }
    ++it;
  }
}

Status SimulatedFleet::open(int number, Door& door) {
  const Result<HostPort> at = parse_address(door.address);
  if (!at) return at.error();
  net::HttpServer::Options options;
  options.bind_address = at->host;
  options.port = at->port;
  auto server = std::make_unique<net::HttpServer>(
      executor_, std::move(options),
      [this, number](std::shared_ptr<const net::ServerRequest> request) {
        return answer(std::move(request), number);
      },
      [](int status, const std::string& message) { return response(status, message + '\n'); });
  if (Status started = server->start(); !started) return started;
  door.address = to_text({at->host, server->port()});
  door.start_unix_s = unix_seconds(clock_.wall_now());
  door.server = std::move(server);
  return {};
}

SimulatedFleet::Doors::iterator SimulatedFleet::find(const std::string& address) {
  return std::find_if(doors_.begin(), doors_.end(),
                      [&](const auto& entry) { return entry.second.address == address; });
}

}  // namespace loadline::cmd
