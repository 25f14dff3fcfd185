#!/usr/bin/env bash
# Everything a script can see: format, the coroutine rule of g++ 12, banned names, shell and YAML. Exit 1 on any finding.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
status=0
say() { printf '%s\n' "$*"; status=1; }

mapfile -t sources < <(git ls-files '*.h' '*.cc')
clang-format-14 --dry-run -Werror "${sources[@]}" || say "lint: run clang-format-14 -i on the files above"

banned() {  # banned 'regex' 'why' [files allowed, as a regex]
  local hits
  hits=$(git grep -nE "$1" -- '*.h' '*.cc' | grep -vE "^(${3:-none}):" | grep -vE ':[0-9]+: *//')
  [ -z "$hits" ] || say "lint: $2"$'\n'"$hits"
}
banned 'asio::detached|[^_a-z]detached\b' 'detached coroutines are banned: spawn them in a TaskGroup'
banned '_clock::now\(\)' 'ask base/clock.h for the time' 'base/clock\.cc|bench/.*|tests/.*'
banned '\b(sleep_for|sleep_until|usleep)\b' 'no sleeping; wait on a timer'
banned '\bgetenv\b' 'the environment is read in cmd/ only' 'cmd/.*'
banned 'co_spawn\(co_await' 'g++ 12: fetch the executor on the line above'
banned 'co_await co_spawn' 'g++ 12: spawn in a TaskGroup'
banned 'co_await [^;]*\{[^}]*\}' 'g++ 12: name what braces make on the line above the co_await' 'tests/.*'
banned 'co_await [^;]*\[[^]]*\] *(\(|\{)' 'g++ 12: name the lambda on the line above the co_await' 'tests/.*'
git grep -nE 'TODO|FIXME' -- '*.h' '*.cc' '*.sh' '*.py' | grep -vE '#[0-9]+|tools/lint.sh' && say 'lint: a TODO needs an issue number'

mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
shellcheck -S warning "${scripts[@]}" || say "lint: shellcheck"
mapfile -t yaml < <(git ls-files '*.yaml' '*.yml' | grep -v '^charts/.*/templates/')
[ "${#yaml[@]}" -eq 0 ] || yamllint -s -d '{extends: relaxed, rules: {line-length: disable, indentation: disable}}' "${yaml[@]}" || say "lint: yamllint"

long=$(git ls-files '*.h' '*.cc' | xargs wc -l | awk '$2 != "total" && $1 > 350 {print "  " $2 ": " $1 " lines"}' | grep -v tests/)
[ -z "$long" ] || say "lint: past 350 lines (say why in docs/decisions, or cut the file)"$'\n'"$long"
[ $status -eq 0 ] && echo "lint: clean, ${#sources[@]} C++ files"
exit $status
