#!/usr/bin/env bash
# Runs browser tests of the page in headless Chromium.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/web/run_page_tests.sh FOLDER [TEST.mjs ...]

Installs playwright-core and axe-core into FOLDER, at the versions of package-lock.json, and
runs page.test.mjs, or the files named. Pictures of the page are left in FOLDER/pictures.
Prints "skipped:" and why where there is no node, npm or chromium, or npm cannot install.

SORTITION_LONG=1 runs all of page.test.mjs. real_page.test.mjs takes the address of a
process that runs: PAGE_URL=http://127.0.0.1:8503. pictures.test.mjs takes the folder of
the programs: PAGE_PROGRAMS=build/dev/bin, and with UPDATE_PICTURES=1 makes docs/pictures
anew.
TEXT
}

case ${1:---help} in --help | -h) usage && exit 0 ;; esac
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- page.test.mjs

skip() { echo "skipped: $*" && exit 0; }
node=$(command -v node) || skip 'no node (package nodejs)'
"$node" -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' || skip 'node is older than 18'
command -v npm >/dev/null || skip 'no npm (package npm)'
browser=$(command -v chromium || command -v chromium-browser) || skip 'no chromium (package chromium)'

# Installed once for each package-lock.json.
if ! cmp -s "$sources/package-lock.json" "$folder/installed.json"; then
  cp "$sources/package.json" "$sources/package-lock.json" "$folder"
  (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) ||
    skip "npm cannot install: $(tail -n 1 "$folder/npm.log")"
  cp "$sources/package-lock.json" "$folder/installed.json"
fi

export PAGE_MODULES=$folder PAGE_BROWSER=$browser PAGE_PICTURES=$folder/pictures
[ -z "${PAGE_PROGRAMS:-}" ] || PAGE_PROGRAMS=$(cd "$PAGE_PROGRAMS" && pwd)
cd "$sources"
"$node" --test "$@"
