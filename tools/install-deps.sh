#!/usr/bin/env bash
# Installs what this project needs from Debian's own packages; does nothing for what is there already.
#   tools/install-deps.sh build   compilers, libraries, what `make build` needs
#   tools/install-deps.sh test    the same and the second compiler, sanitizers, linters, etcd: what `make test` and .ci/run need
set -euo pipefail

build=(g++ cmake make ninja-build ccache clang-16 lld-16
  libboost1.81-dev libboost-url1.81-dev libssl-dev libexpected-dev nlohmann-json3-dev libprotobuf-dev protobuf-compiler
  libyaml-cpp-dev libfmt-dev libcli11-dev libgtest-dev libgmock-dev libbenchmark-dev)
test=(libclang-rt-16-dev llvm-16 clang-tidy-16 clang-tools-16 clang-format-14 shellcheck yamllint
  etcd-server openssl curl python3 git ca-certificates)

case "${1:-}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  *) echo "usage: tools/install-deps.sh build|test" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "tools/install-deps.sh: this is no Debian machine; install by hand: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "tools/install-deps.sh: run as root or install sudo; missing: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
