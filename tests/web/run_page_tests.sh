#!/usr/bin/env bash
# Runs tests of pages, in node or in headless Chromium.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/web/run_page_tests.sh FOLDER TEST.mjs ...
       tests/web/run_page_tests.sh --no-browser TEST.mjs ...

Installs playwright-core and axe-core into FOLDER, at the versions of package-lock.json, and
runs the tests. Pictures of the page are left in FOLDER/pictures. Prints "skipped:", why and
what helps if there is no node or chromium, or npm cannot install.

SORTITION_LONG=1 runs all of page.test.mjs. real_page.test.mjs takes the address of a
process that runs: PAGE_URL=http://127.0.0.1:8503. pictures.test.mjs takes the folder of
the programs: SORTITION_BIN=build/dev/bin, and with UPDATE_PICTURES=1 makes docs/pictures
anew.
TEXT
}

case ${1:---help} in --help | -h) usage && exit 0 ;; esac
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
install=$sources/../node/install_packages.sh
folder=$1
shift
if [ "$folder" = --no-browser ]; then
  "$install"
else
  PAGE_BROWSER=$(command -v chromium || command -v chromium-browser) ||
    { echo 'skipped: no chromium; ./dev setup test' && exit 77; }
  "$install" "$sources" "$folder"
  PAGE_MODULES=$(cd "$folder" && pwd)
  export PAGE_BROWSER PAGE_MODULES PAGE_PICTURES=$PAGE_MODULES/pictures
fi
exec node --test "$@"
