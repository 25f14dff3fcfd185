// The server's own counters: a struct of them per component, no global registry;
// apiserver/metrics_page.cc renders them. Thread-safe, relaxed: a number on a page, never a
// condition in code.
#pragma once

#include <atomic>
#include <cstdint>

namespace loadline {

class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double v) { value_.store(v, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

}  // namespace loadline
