#!/usr/bin/env bash
# Runs an SDK of OpenTelemetry against a real server.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/tracing/run_tracing_tests.sh FOLDER BINARIES

Installs the packages of package-lock.json into FOLDER and runs the tests with the programs in
BINARIES. Prints "skipped:", why and what helps if there is no node, or npm cannot install.
TEXT
}

case ${1:---help} in --help | -h) usage && exit 0 ;; esac
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
SORTITION_BINARIES=$(cd "$2" && pwd)
export SORTITION_BINARIES
"$sources/../node/install_packages.sh" "$sources" "$folder"

# A folder of this run, below that of the packages, where node looks for them.
tests=$(mktemp -d "$folder/tests.XXXXXX")
trap 'rm -rf "$tests"' EXIT
cp "$sources"/*.test.mjs "$sources/../node/processes.mjs" "$tests"
cd "$tests"
node --test ./*.test.mjs
