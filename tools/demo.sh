#!/usr/bin/env bash
# The main job, end to end, with real processes. ./dev demo builds first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: ./dev demo [OPTION ...]

Fits a first model to a few labelled queries, serves it at random, logs every decision
and joins it with the users' feedback, learns from that log, shows off-policy that the
new model is better, swaps it in under load, and measures it. Ends with a table. The exit
status is not 0 if the new model is less than 15 % better, if the measured reward is
outside the predicted interval, or if a request failed or a decision is missing or
logged twice.

  --data FILE      labelled queries: LETOR/SVMlight with qid, or columns as .tsv (question,
                   sentence, label), .csv or .jsonl; default: a built-in
                   question-answering world
  --features FILE  what becomes of the columns (a FeatureSpec, docs/features.md); default
                   for .tsv: deploy/features/answers.textproto
  --action ACTION  select (one answer or none; default) or rank (top 5)
  --dir DIR        spool, tuples, models and reports (default build/demo; emptied first)
  --decisions N    decisions in each of the two phases (default 40000; with columns 20000)
  --chaos          three times: kill -9 the sidecar and the server while they serve, leave
                   half a record at the end of the log, and restart them
  --rollout        instead of a swap: the new version takes over from a tenth of the users
                   on; then a worse one is published and goes back by itself
  --page           instead of all that: a search page (examples/search, needs node) whose
                   simulated visitors, and you, teach a first model while the status page
                   shows their reward; until Ctrl-C. --data FILE: a .tsv
  --seconds N      with --page: end N seconds after the first rewards of the new model; the
                   exit status is not 0 if the reward did not rise
  --bin DIR        the programs (default build/dev/bin)
TEXT
}

data='' features='' action=select dir=build/demo decisions='' chaos=false rollout=false
page=false seconds='' bin=build/dev/bin
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=$2 && shift ;;
    --features) features=$2 && shift ;;
    --action) action=$2 && shift ;;
    --dir) dir=$2 && shift ;;
    --decisions) decisions=$2 && shift ;;
    --chaos) chaos=true ;;
    --rollout) rollout=true ;;
    --page) page=true ;;
    --seconds) seconds=$2 && shift ;;
    --bin) bin=$2 && shift ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
case $action in select | rank) ;; *) usage >&2 && exit 2 ;; esac
case $data in
  *.tsv) features=${features:-deploy/features/answers.textproto} ;;
  *.csv | *.jsonl) [ -n "$features" ] || { echo 'demo: --features is unset' >&2 && exit 2; } ;;
esac
: "${decisions:=$([ -n "$features" ] && echo 20000 || echo 40000)}"
! $chaos || ! $rollout || { echo 'demo: --chaos and --rollout do not go together' >&2 && exit 2; }
[[ ${seconds:-1} =~ ^[1-9][0-9]{0,5}$ ]] ||
  { echo "demo: --seconds is $seconds, must be in [1, 999999]" >&2 && exit 2; }

source tools/demo_common.sh
trap stop_all EXIT
# Kills both processes under load, leaves the log as a machine that goes down would, and
# restarts them.
cause_chaos() {
  local round
  for round in 1 2 3; do
    wait_for 60 'records in the log' \
      python3 tools/demo_report.py logged --port-file="$dir/server.port" --at-least=5000
    kill -9 "$sidecar_pid" && wait "$sidecar_pid" 2>/dev/null || true
    kill -9 "$server_pid" && wait "$server_pid" 2>/dev/null || true
    python3 tools/tear_tail.py "$dir/spool"
    start_server
    start_sidecar
    echo "round $round: sidecar and server killed with -9 and restarted"
  done
}

serve_first_version() {
  if $chaos; then
    simulate 1 "$decisions" before --max_attempts=10 --deadline_seconds=20 &
    load_pid=$!
    cause_chaos
    wait "$load_pid" || $chaos
    load_pid=''
  else
    simulate 1 "$decisions" before
  fi
}

if $page; then
  source tools/demo_page.sh
  exit
fi

began=$SECONDS
prepare_dir
if $rollout; then
  source tools/demo_rollout.sh
  exit
fi

say 'a first model from 20 labelled queries'
fit_first_version

say "version 1 serves, $decisions decisions"
start_server
start_sidecar
serve_first_version

say 'the sidecar joins decisions with feedback'
wait_for 60 'complete tuples' has_tuples "$(answered "$dir/reports/before.json")"
"$bin/sortition" log stats "$dir/tuples"

say 'the trainer learns, the server swaps, under load'
simulate 2 1 during --until_version=2 --max_seconds=120 >"$dir/logs/during.log" 2>&1 &
load_pid=$!
"$bin/sortition-trainer" train --tuples="$dir/tuples" --model_store="$dir/models" \
  --versions=1 --report="$dir/reports/train.json"
wait "$load_pid" || { cat "$dir/logs/during.log" && exit 1; }
load_pid=''
cat "$dir/logs/during.log"

say "version 2 serves, $decisions decisions"
simulate 3 "$decisions" after

say 'drain'
# The server takes feedback until the last window is over.
wait_for 60 'complete tuples' has_tuples \
  "$(answered "$dir/reports/before.json" "$dir/reports/during.json" "$dir/reports/after.json")"
drain_and_verify

say 'result'
python3 tools/demo_report.py table --dir="$dir" --seconds=$((SECONDS - began)) \
  --max-seconds="$([ -n "$features" ] && echo 180 || echo 90)" \
  "$($chaos && echo --chaos || echo --no-chaos)"
