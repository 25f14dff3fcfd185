#include "sim/fleet.h"

#include <algorithm>
#include <utility>

namespace loadline::sim {

Fleet::Fleet(FleetOptions options, double start_s)
    : options_(std::move(options)),
      arrivals_(options_.seed),
      mix_(options_.sizes, options_.seed + 1),
      now_s_(start_s) {
  set_rate(0);
}

bool Fleet::add(std::string name, double delay_s) {
  if (find(name) != nullptr) return false;
  Member member;
  member.name = std::move(name);
  member.ready_s = now_s_ + std::max(0.0, delay_s);
  members_.push_back(std::move(member));
  start_ready(now_s_);
  return true;
}

bool Fleet::remove(const std::string& name) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  if (found == members_.end()) return false;
  if (found->engine) counters_.lost += static_cast<std::int64_t>(found->engine->in_flight());
  members_.erase(found);
  return true;
}

void Fleet::set_rate(double per_s) {
  rate_ = [per_s](double) { return per_s; };
}

void Fleet::set_rate(std::function<double(double)> per_s) { rate_ = std::move(per_s); }

void Fleet::advance_to(double t_s) {
  constexpr double kSlice_s = 0.1;
  while (now_s_ < t_s) {
    const double to_s = std::min(t_s, now_s_ + kSlice_s);
    arrivals(to_s);
    start_ready(to_s);
    for (Member& member : members_) {
      if (member.engine) member.engine->advance_to(to_s);
    }
    now_s_ = to_s;
  }
}

const Fleet::Member* Fleet::find(const std::string& name) const {
  for (const Member& member : members_) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

void Fleet::start_ready(double t_s) {
  for (Member& member : members_) {
    if (!member.engine && member.ready_s <= t_s) {
      member.engine = std::make_unique<Engine>(options_.engine, member.ready_s);
    }
  }
}

void Fleet::arrivals(double to_s) {
  const double rate = rate_(now_s_);
  double from_s = now_s_;
  while (const std::optional<double> at_s = arrivals_.next(from_s, to_s, rate)) {
    from_s = *at_s;
    start_ready(from_s);
    for (Member& member : members_) {
      if (member.engine) member.engine->advance_to(from_s);
    }
    route();
  }
}

// Of equally loaded engines the one that has had the fewest requests.
void Fleet::route() {
  ++counters_.offered;
  const Request request = mix_.next();
  Member* best = nullptr;
  const auto load = [](const Member& member) {
    return std::pair(member.engine->in_flight(), member.routed);
  };
  for (Member& member : members_) {
    if (member.engine && (best == nullptr || load(member) < load(*best))) best = &member;
  }
  if (best == nullptr || best->engine->in_flight() >= options_.most_in_flight ||
      !best->engine->submit(request)) {
    ++counters_.refused;
    return;
  }
  ++best->routed;
  ++counters_.routed;
}

}  // namespace loadline::sim
