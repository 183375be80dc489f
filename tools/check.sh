#!/usr/bin/env bash
# Everything that must hold before a push: format, layering, build, tests, lint.
# usage: tools/check.sh [BASE]   lint what changed since BASE (default: origin/main
# where there is one, else the commit before)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

base=${1:-$(git rev-parse -q --verify origin/main || git rev-parse -q --verify HEAD~1 || git rev-parse HEAD)}

echo "== format"
git ls-files '*.cc' '*.h' | xargs clang-format-14 --dry-run --Werror
echo "== layering"
python3 tools/check_layering.py .
echo "== build and test"
cmake --workflow --preset dev
echo "== lint"
changed=$(git diff --name-only --diff-filter=AM "$base" -- '*.cc')
if [ -n "$changed" ]; then
  # shellcheck disable=SC2086
  printf '%s\n' $changed | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build/dev --quiet
fi
echo "== ok"
