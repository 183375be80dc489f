#!/usr/bin/env bash
# Installs packages of npm for tests.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/node/install_packages.sh [SOURCE FOLDER]

Installs the packages that SOURCE/package-lock.json names into FOLDER, once for each state of
that file. Without arguments it only looks for node. Prints a line "skipped: ..." and exits with 77
if there is no node or npm, or npm fails.
TEXT
}

case ${1:-} in --help | -h) usage && exit 0 ;; esac
skip() { echo "skipped: $*" && exit 77; }
command -v node >/dev/null || skip 'no node; ./dev setup test'
node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' ||
  skip "node $(node --version) is older than 18; install Node 18 or newer"
[ $# -gt 0 ] || exit 0
source=$1 folder=$2
command -v npm >/dev/null || skip 'no npm; ./dev setup test'
mkdir -p "$folder"
# One installation at a time: ctest may start several tests.
exec 9>"$folder/lock"
flock 9
! cmp -s "$source/package-lock.json" "$folder/installed.json" || exit 0
cp "$source/package.json" "$source/package-lock.json" "$folder"
(cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=2 \
  --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 >npm.log 2>&1) ||
  skip "npm cannot install: $(tail -n 1 "$folder/npm.log"); ./dev test again once its registry can be reached"
cp "$source/package-lock.json" "$folder/installed.json"
