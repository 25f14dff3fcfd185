#!/usr/bin/env bash
# Runs every fuzz target of build/fuzz for SECONDS on its corpus (kept in tests/fuzz/corpus/<name>).
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
ran=0
for target in build/fuzz/tests/fuzz/fuzz_*; do
  [ -x "$target" ] && [ -f "$target" ] || continue
  name=$(basename "$target"); name=${name#fuzz_}
  mkdir -p "build/fuzz/corpus/$name"
  seeds=(); [ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
  echo "fuzz: $name for ${seconds} s"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build/fuzz/$name-" "build/fuzz/corpus/$name" "${seeds[@]}" 2>&1 | grep -E 'number_of_executed_units|ERROR|SUMMARY|Test unit' || true
  [ "${PIPESTATUS[0]}" -eq 0 ] || { echo "fuzz: $name FAILED; the input lies in build/fuzz/$name-*" >&2; exit 1; }
  ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || { echo "fuzz: no target was built" >&2; exit 1; }
echo "fuzz: $ran targets, no finding"
