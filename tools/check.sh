#!/usr/bin/env bash
# Everything that must hold before a push: format, layering, build, tests, lint.
# usage: tools/check.sh [--long] [BASE]
#   BASE     lint what changed since BASE (default: origin/main where there is one, else
#            the commit before)
#   --long   lint everything; also build all benchmarks, each source by itself without
#            precompiled headers, and run the whole suite under AddressSanitizer with
#            UndefinedBehaviorSanitizer and under ThreadSanitizer. Takes hours.
# Ends with one line per part: ok or FAILED. Exits non-zero where a part failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

long=false
if [ "${1:-}" = --long ]; then
  long=true
  shift
fi
base=${1:-$(git rev-parse -q --verify origin/main || git rev-parse -q --verify HEAD~1 || git rev-parse HEAD)}
jobs=$(nproc)
results=()
failed=0

# part NAME COMMAND ...: runs COMMAND and keeps its result; --long goes on after a
# failure, so that one run shows them all.
part() {
  local name=$1
  shift
  echo "== $name"
  if "$@"; then
    results+=("ok      $name")
  else
    results+=("FAILED  $name")
    failed=1
    $long || finish
  fi
}

finish() {
  echo "=="
  printf '%s\n' "${results[@]}"
  exit $failed
}

format() { git ls-files '*.cc' '*.h' | xargs clang-format-14 --dry-run --Werror; }

layering() { python3 tools/check_layering.py .; }

suite() { ./dev test --preset "$1"; }

benchmarks() { cmake --build --preset dev -j "$jobs" --target benchmarks; }

# The preset "plain" compiles each source by itself and has no precompiled header: a missing
# include shows, and clang-tidy can read the compile commands.
includes() { cmake --preset plain >/dev/null && cmake --build --preset plain -j "$jobs" "$@"; }

lint() {
  includes --target sortition_proto sortition_grpc >/dev/null &&
    xargs -r -P "$jobs" -n 4 clang-tidy-14 -p build/plain --quiet 2>/dev/null
}
lint_changed() { git diff --name-only --diff-filter=AM "$base" -- '*.cc' | lint; }
lint_all() { git ls-files '*.cc' | lint; }

part format format
part layering layering
part 'build and test' suite dev
if $long; then
  part benchmarks benchmarks
  part includes includes
  part 'lint of everything' lint_all
  part 'address and undefined behaviour' suite asan
  part threads suite tsan
else
  part 'lint of what changed' lint_changed
fi
finish
