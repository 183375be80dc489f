#!/usr/bin/env bash
# Runs tests of the Node client against the package that is released.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/node/run_node_tests.sh FOLDER BINARIES [FILE.mjs ...]

Installs what client/node needs into FOLDER, at the versions of its package-lock.json, packs
the client, unpacks the package beside it, and runs the files named with the programs in
BINARIES: tests (*.test.mjs, the default: all of them), or benchmark.mjs [BATCHES].
Prints "skipped:", why and what helps if there is no node, or npm cannot install.
TEXT
}

case ${1:---help} in --help | -h) usage && exit 0 ;; esac
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$sources/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
SORTITION_BINARIES=$(cd "$2" && pwd)
export SORTITION_BINARIES SORTITION_SOURCES=$root
shift 2

"$sources/install_packages.sh" "$root/client/node" "$folder" || exit 0

# The archive that is released has what npm packs (tests/deploy/packaging/node_archive_test.py).
rm -rf "$folder/tests"
mkdir -p "$folder/tests/node_modules"
SOURCE_DATE_EPOCH=0 python3 "$root/tools/packaging/node_archive.py" --sources "$root" \
  --output "$folder/sortition.tgz"
tar xzf "$folder/sortition.tgz" -C "$folder/tests/node_modules"
mv "$folder/tests/node_modules/package" "$folder/tests/node_modules/sortition"
cp "$sources"/*.mjs "$sources"/*.mts "$sources"/*.json "$folder/tests"

cd "$folder/tests"
case ${1:-} in
  '') exec node --test ./*.test.mjs ;;
  *.test.mjs) exec node --test "$@" ;;
  *) exec node "$@" ;;
esac
