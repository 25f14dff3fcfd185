// Classic against a slow reference that keeps the whole history and looks everything up anew at
// each sample.
#include "estimator/classic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace loadline::estimator {
namespace {

class Reference {
 public:
  explicit Reference(ClassicOptions options) : options_(options) {}

  // The capacity that stands after the sample, and whether this sample gave it.
  std::pair<std::optional<double>, bool> tick(const EngineSignals& s) {
    const std::optional<double> fresh = evaluate(s);
    if (fresh) published_.push_back(*fresh);
    if (published_.empty()) return {std::nullopt, false};
    return {published_.back(), fresh.has_value()};
  }

 private:
  struct Tick {
    double t, d, dt, n;
  };

  static bool is_reading(double v) { return std::isfinite(v) && v >= 0; }

  std::optional<double> evaluate(const EngineSignals& s) {
    if (!s.completed_total.has_value() || !s.running.has_value()) return std::nullopt;
    const double t = s.t_s, completed = *s.completed_total, running = *s.running;
    if (!std::isfinite(t) || !is_reading(completed)) return std::nullopt;
    baselines_.emplace_back(t, completed);
    if (baselines_.size() == 1) return std::nullopt;
    const auto [t0, completed0] = baselines_[baselines_.size() - 2];
    const double dt = t - t0, d = completed - completed0;
    if (dt <= 0 || d < 0 || !is_reading(running)) return std::nullopt;
    // The window forgets for good: what is too old once stays away though the clock goes back
    // later.
    const bool idle = d == 0 && running == 0;
    if (!idle) history_.push_back({t, d, dt, running > 0 ? running : 1.0});
    if (idle || options_.window_s > 0) {
      for (Tick& tick : history_) {
        if (options_.window_s > 0 && tick.t < t - options_.window_s) tick.t = kGone;
      }
    }
    if (idle) return std::nullopt;

    std::vector<double> n;
    double sum_d = 0, sum_ndt = 0, span = 0;
    for (const Tick& tick : history_) {
      if (tick.t == kGone) continue;
      n.push_back(tick.n);
      sum_d += tick.d;
      sum_ndt += tick.n * tick.dt;
      span += tick.dt;
    }
    if (n.size() < options_.min_ticks || span < options_.warmup_s) return std::nullopt;
    const double per_slot = sum_d / sum_ndt;
    if (per_slot == 0) return std::nullopt;
    std::sort(n.begin(), n.end());
    const std::size_t percent = static_cast<std::size_t>(std::lround(options_.percentile * 100));
    const std::size_t rank = (percent * n.size() + 99) / 100;
    return per_slot * n[rank == 0 ? 0 : rank - 1];
  }

  static constexpr double kGone = -std::numeric_limits<double>::infinity();
  ClassicOptions options_;
  std::vector<std::pair<double, double>> baselines_;
  std::vector<Tick> history_;
  std::vector<double> published_;
};

// A whole number below n.
double below(std::mt19937& random, unsigned n) { return static_cast<double>(random() % n); }

// Traffic with bursts, idle stretches, restarts, scrape gaps, clock steps, lost and nonsensical
// cells.
std::vector<EngineSignals> random_trace(std::mt19937& random) {
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  const double nonsense[] = {std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), -3.0};
  const double interval = 1.0 + below(random, 15);
  const unsigned most_running = 1 + static_cast<unsigned>(random() % 256);
  double t_s = below(random, 100'000), completed = below(random, 5000);
  bool idle = chance(30);
  std::vector<EngineSignals> trace;
  for (int i = 0; i < 120; ++i) {
    EngineSignals s;
    s.t_s = t_s;
    s.completed_total = completed;
    s.running = idle ? 0 : below(random, most_running + 1);
    if (chance(3)) s.completed_total.reset();
    if (chance(3)) s.running.reset();
    if (chance(2)) s.completed_total = nonsense[random() % 4];
    if (chance(2)) s.running = nonsense[random() % 4];
    if (chance(1)) s.t_s = nonsense[random() % 3];
    trace.push_back(s);

    t_s += interval * (0.9 + 0.001 * below(random, 200));
    if (chance(2)) t_s += below(random, 200);
    if (chance(1)) t_s -= below(random, 30);
    if (chance(8)) idle = !idle;
    if (!idle && !chance(20)) completed += below(random, 40);
    if (chance(2)) completed = below(random, 20);
  }
  return trace;
}

TEST(ClassicReference, EqualsTheReferenceOn2000RandomTraces) {
  std::mt19937 random(20240607);
  int measured = 0, held = 0, unknown = 0;
  for (int trace = 0; trace < 2000; ++trace) {
    ClassicOptions options;
    if (trace % 4 == 1) options.window_s = below(random, 300);
    if (trace % 4 == 2) options.warmup_s = below(random, 90);
    if (trace % 4 == 3) {
      options.percentile = below(random, 101) / 100.0;
      options.min_ticks = random() % 8;
      options.multiplier = below(random, 60);
    }
    Classic classic(options);
    Reference reference(options);
    int row = 0;
    for (const EngineSignals& signals : random_trace(random)) {
      const Estimate got = classic.update(signals);
      const auto [want, fresh] = reference.tick(signals);
      ASSERT_EQ(got.capacity, want) << "trace " << trace << " row " << row;
      ASSERT_EQ(got.quality == Quality::kMeasured, fresh) << "trace " << trace << " row " << row;
      ASSERT_EQ(got.reason == Reason::kNone, fresh);
      if (want) {
        ASSERT_EQ(got.lower, want);
        ASSERT_EQ(got.upper, want);
        ASSERT_EQ(got.capacity_messages, std::max(1.0, *want * options.multiplier));
      }
      ++(fresh ? measured : want ? held : unknown);
      ++row;
    }
  }
  // The traces do reach all three.
  EXPECT_GT(measured, 50'000);
  EXPECT_GT(held, 20'000);
  EXPECT_GT(unknown, 5'000);
}

}  // namespace
}  // namespace loadline::estimator
