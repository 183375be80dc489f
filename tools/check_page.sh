#!/usr/bin/env bash
# Opens a page of sortition-trainer ope in headless Chromium.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/check_page.sh PAGE.html [DIRECTORY]

Fails if the page is no well-formed XML, if the browser's console has a message, or if the
page asks for anything. With a DIRECTORY it leaves there what the page looks like:
screen.png (1200 pixels wide), phone.png (400) and print.pdf (A4). Exits with 77 if there
is no chromium.
TEXT
}

case ${1:---help} in --help | -h) usage && exit 0 ;; esac
page=$(realpath "$1")
browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || { echo "skipped: no chromium; ./dev setup test" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pictures=${2:-$work}
mkdir -p "$pictures"

python3 - "$page" <<'TEXT'
import sys, xml.etree.ElementTree
xml.etree.ElementTree.parse(sys.argv[1])
TEXT

# open_page NAME OPTION ...: no name resolves, so nothing leaves the machine.
open_page() {
  local name=$1
  shift
  if ! timeout 100 "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
    --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --log-level=0 \
    --log-net-log="$work/$name.json" "$@" "file://$page" 2>"$work/$name.log"; then
    echo "$name: the browser failed" && tail -n 5 "$work/$name.log" && exit 1
  fi
  if grep ':CONSOLE' "$work/$name.log"; then
    echo "$name: the console has messages" && exit 1
  fi
  # Requests of the browser itself, for updates, have no origin.
  python3 - "$work/$name.json" <<'TEXT'
import json, sys
log = json.load(open(sys.argv[1]))
start = log['constants']['logEventTypes']['URL_REQUEST_START_JOB']
asked = [e['params'] for e in log['events'] if e['type'] == start and 'params' in e]
urls = {p['url'] for p in asked if 'url' in p and p.get('initiator') != 'not an origin'}
if urls:
    print('the page asks for', *sorted(urls))
    sys.exit(1)
TEXT
}

open_page screen --window-size=1200,9000 --screenshot="$pictures/screen.png"
open_page phone --window-size=400,9000 --screenshot="$pictures/phone.png"
open_page print --no-pdf-header-footer --print-to-pdf="$pictures/print.pdf"
echo "$1: well-formed, no message in the console, no request"
