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

"$sources/install_packages.sh" "$root/client/node" "$folder"

# The archive that is released has what npm packs (tests/deploy/packaging/node_archive_test.py).
# A folder of this run, below that of the packages, where node looks for them.
tests=$(mktemp -d "$folder/tests.XXXXXX")
trap 'rm -rf "$tests"' EXIT
mkdir "$tests/node_modules"
SOURCE_DATE_EPOCH=0 python3 "$root/tools/packaging/node_archive.py" --sources "$root" \
  --output "$tests/sortition.tgz"
tar xzf "$tests/sortition.tgz" -C "$tests/node_modules"
mv "$tests/node_modules/package" "$tests/node_modules/sortition"
cp "$sources"/*.mjs "$sources"/*.mts "$sources"/*.json "$tests"

cd "$tests"
case ${1:-} in
  '') node --test ./*.test.mjs ;;
  *.test.mjs) node --test "$@" ;;
  *) node "$@" ;;
esac
