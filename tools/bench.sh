#!/usr/bin/env bash
# Runs every benchmark of build/release/bench; each prints its ratios and fails where a guard is broken.
set -euo pipefail
cd "$(dirname "$0")/.."
ran=0
for bench in build/release/bench/bench_*; do
  [ -f "$bench" ] && [ -x "$bench" ] || continue
  echo "== $(basename "$bench")"
  "$bench"
  ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || { echo "bench: none was built" >&2; exit 1; }
