#!/usr/bin/env bash
# usage: run_demo_test.sh BIN DIR: ./dev demo --page with the programs in BIN, until the
# reward has risen. Takes a minute or two: part of ./dev test --long.
set -euo pipefail

skip() { echo "skipped: $*" && exit 0; }
[ -n "${SORTITION_LONG:-}" ] || skip 'takes minutes (./dev test --long)'
command -v node >/dev/null || skip 'no node (package nodejs)'
"$(dirname "${BASH_SOURCE[0]}")/../../../tools/demo.sh" --page --seconds 15 --bin "$1" --dir "$2"
