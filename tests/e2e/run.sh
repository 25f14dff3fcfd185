#!/usr/bin/env bash
# The end-to-end tests, or a loud line that says why they cannot run here. Binaries: tools/fetch-assets.sh.
# LOADLINE and ENGINE_FLEET name other builds than build/release; E2E_SKIP_CODE is the exit code of a skip.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

skip() {
  echo "SKIPPED end-to-end: $*"
  exit "${E2E_SKIP_CODE:-0}"
}

loadline=${LOADLINE:-$root/build/release/loadline}
fleet=${ENGINE_FLEET:-$root/build/release/tests/support/engine_fleet}
for program in "$loadline" "$fleet"; do
  [[ -x "$program" ]] || skip "$program is not there; build it with: cmake --preset release && cmake --build build/release"
done
for program in python3 openssl; do
  command -v "$program" >/dev/null || skip "no $program on this machine"
done
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "python3 is older than 3.11"

why=$(mktemp)
trap 'rm -f "$why"' EXIT
assets=$("$root/tools/fetch-assets.sh" 2> >(tee "$why" >&2))
status=$?
((status == 3)) && skip "$(tail -n 1 "$why")"
((status == 0)) || exit "$status"

export KUBEBUILDER_ASSETS=$assets LOADLINE=$loadline ENGINE_FLEET=$fleet PYTHONDONTWRITEBYTECODE=1
python3 "$here/test_e2e.py" "$@"
