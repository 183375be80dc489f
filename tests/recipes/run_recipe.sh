#!/usr/bin/env bash
# Runs what docs/clients.md says of one language, against a real server.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/recipes/run_recipe.sh LANGUAGE FOLDER BINARIES

Runs the lines of the section LANGUAGE ("Java", "Go") of docs/clients.md in FOLDER, with the port
of a server of its own in place of 8500, and looks for what the recipe did in the server's log.
Prints "skipped:", the packages that the section names and that are not installed, and what helps.
TEXT
}

case ${1:---help} in --help | -h) usage && exit 0 ;; esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
language=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
binaries=$(cd "$3" && pwd)

fail() { echo "$*" >&2 && exit 1; }

section=$(awk -v heading="## $language" '/^## / { on = $0 == heading } on' "$root/docs/clients.md")
lines=$(awk '/^```$/ { code = 0 } code; /^```sh$/ { code = 1 }' <<<"$section")
[ -n "$lines" ] || fail "docs/clients.md has no lines for $language"

packages=$(tr '\n' ' ' <<<"$section" | sed -n 's/.*`apt-get install \([^`]*\)`.*/\1/p')
missing=()
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] || { echo "skipped: no ${missing[*]}; ./dev test --with ${language,}" && exit 77; }

rm -rf "$folder/run"
mkdir -p "$folder/run/models" "$folder/sources"
ln -sfn "$root/proto" "$folder/sources/proto"
ln -sfn "$root/client" "$folder/sources/client"
rm -rf "$folder/sources/build"

"$binaries/sortition-server" --listen=127.0.0.1:0 --metrics_listen=127.0.0.1:0 --http.listen=127.0.0.1:0 \
  --port_file="$folder/run/ports" --model_store="$folder/run/models" --spool.dir="$folder/run/spool" \
  2>"$folder/run/server.log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT

cd "$folder/sources"
# Go keeps what it compiled; without a home it must be told where.
export GOCACHE=$folder/go_cache GOFLAGS=
# Compiling takes longer than the server to start; the last line asks it.
bash -euc "$(sed '$d' <<<"$lines")"$'\n'"
while [ ! -s '$folder/run/ports' ]; do kill -0 $server; sleep 0.05; done
port=\$(sed -n 's/^rpc //p' '$folder/run/ports')
$(sed -n '$p' <<<"$lines" | sed 's/:8500/:$port/')" || fail "$(cat "$folder/run/server.log")"

log=$("$binaries/sortition" log cat "$folder/run/spool")
for record in decision shown feedback; do
  [ "$(grep -c "\"record\":{\"$record\"" <<<"$log")" -eq 1 ] || fail "the log has not one $record: $log"
done
