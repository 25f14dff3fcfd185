#include "scrape/schedule.h"

#include <algorithm>
#include <cstdint>

namespace loadline::scrape {
namespace {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;

// FNV-1a with a last mix: the same on every machine.
std::uint64_t hash_id(std::string_view id) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : id) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  return h ^ h >> 33;
}

nanoseconds share_of(std::uint64_t hash, nanoseconds span) {
  return nanoseconds(span.count() == 0 ? 0
                                       : static_cast<std::int64_t>(
                                             hash % static_cast<std::uint64_t>(span.count())));
}

}  // namespace

SteadyTime first_scrape(std::string_view id, std::chrono::milliseconds interval, SteadyTime now) {
  const nanoseconds wait = share_of(hash_id(id), nanoseconds(interval) / 10);
  return now + duration_cast<SteadyTime::duration>(wait);
}

SteadyTime next_scrape(std::string_view id, std::chrono::milliseconds interval, SteadyTime started,
                       SteadyTime now) {
  const nanoseconds step(interval);
  const nanoseconds phase = share_of(hash_id(id), step);
  const SteadyTime earliest = std::max(started + interval / 2, now);
  const nanoseconds past = duration_cast<nanoseconds>(earliest.time_since_epoch()) - phase;
  const std::int64_t slots = (past.count() + step.count() - 1) / step.count();
  return SteadyTime(duration_cast<SteadyTime::duration>(phase + slots * step));
}

}  // namespace loadline::scrape
