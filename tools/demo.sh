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

  --data FILE      labelled queries (LETOR/SVMlight with qid); default: a built-in
                   question-answering world
  --action ACTION  select (one answer or none; default) or rank (top 5)
  --dir DIR        spool, tuples, models and reports (default build/demo; emptied first)
  --decisions N    decisions in each of the two phases (default 40000)
  --chaos          three times: kill -9 the sidecar and the server while they serve, leave
                   half a record at the end of the log, and restart them
TEXT
}

data='' action=select dir=build/demo decisions=40000 chaos=false
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=$2 && shift ;;
    --action) action=$2 && shift ;;
    --dir) dir=$2 && shift ;;
    --decisions) decisions=$2 && shift ;;
    --chaos) chaos=true ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
case $action in select | rank) ;; *) usage >&2 && exit 2 ;; esac

bin=build/release/bin
# The weight of a ranking is a product over its ranks, so its tails are heavier: it needs
# a tighter clip and smaller steps than a single choice.
learning=()
[ "$action" = select ] || learning=(--clip=10 --step_size=0.1 --lambda=0,1)
server_pid='' sidecar_pid='' load_pid=''

say() { printf '\n== %s\n' "$*"; }

stop_all() {
  local status=$? pid
  for pid in $load_pid $server_pid $sidecar_pid; do
    kill "$pid" 2>/dev/null || true
  done
  if [ "$status" -ne 0 ] && [ -d "$dir/logs" ]; then
    echo "demo failed; the last lines of the processes:" >&2
    tail -n 5 "$dir"/logs/*.log >&2 || true
  fi
}
trap stop_all EXIT

prepare_dir() {
  if [ -e "$dir" ]; then
    [ -e "$dir/.sortition-demo" ] || [ -z "$(ls -A "$dir")" ] ||
      { echo "demo: $dir is not empty and is not a demo directory" >&2 && exit 2; }
    rm -rf "$dir"
  fi
  mkdir -p "$dir"/{logs,models,reports}
  touch "$dir/.sortition-demo"
}

# wait_for SECONDS WHAT COMMAND ...: waits until COMMAND succeeds.
wait_for() {
  local until=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $until ] || { echo "demo: no $what in time" >&2 && exit 1; }
    sleep 0.1
  done
}

# The server writes the port file once it serves. After a kill -9 it takes the same port
# again, so that the load finds its server.
server_port=0
start_server() {
  rm -f "$dir/server.port"
  "$bin/sortition-server" --listen="127.0.0.1:$server_port" \
    --metrics_listen=127.0.0.1:0 --model_store="$dir/models" \
    --spool.dir="$dir/spool" --spool.segment_seconds=1 --poll_seconds=0.1 \
    --port_file="$dir/server.port" 2>>"$dir/logs/server.log" &
  server_pid=$!
  wait_for 20 'serving server' test -s "$dir/server.port"
  server_port=$(awk '$1 == "rpc" { print $2 }' "$dir/server.port")
}

start_sidecar() {
  "$bin/sortition-sidecar" --spool="$dir/spool" --tuples="$dir/tuples" \
    --reward_wait_time_seconds=2 --slack_seconds=0.5 --segment_seconds=1 \
    --metrics_listen=127.0.0.1:0 2>>"$dir/logs/sidecar.log" &
  sidecar_pid=$!
}

# simulate SEED DECISIONS REPORT [OPTION ...]
simulate() {
  local seed=$1 count=$2 report=$3
  shift 3
  local source=()
  [ -z "$data" ] || source=(--data="$data")
  "$bin/sortition" simulate --server="127.0.0.1:$server_port" "${source[@]}" \
    --action="$action" --top_k=5 --seed="$seed" --decisions="$count" \
    --units=$((decisions / 4)) --connections=4 --report="$dir/reports/$report.json" "$@"
}

has_tuples() {
  "$bin/sortition" log stats "$dir/tuples" --output=json |
    python3 -c "import json, sys; sys.exit(json.load(sys.stdin)['tuples'] < $1)"
}

answered() {
  python3 tools/demo_report.py answered "$@"
}

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

began=$SECONDS
prepare_dir
labelled=$data
if [ -z "$data" ]; then
  labelled=$dir/world.letor
  "$bin/sortition" world --output="$labelled"
fi

say 'a first model from 20 labelled queries'
"$bin/sortition-trainer" fit --data="$labelled" --model_store="$dir/models" \
  --action="$action" --max_queries=20 --inverse_temperature=0.5 \
  --uniform_mixture=0.1

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
  --versions=1 --report="$dir/reports/train.json" "${learning[@]}"
wait "$load_pid" || { cat "$dir/logs/during.log" && exit 1; }
load_pid=''
cat "$dir/logs/during.log"

say "version 2 serves, $decisions decisions"
simulate 3 "$decisions" after

say 'drain'
# The server takes feedback until the last window is over.
wait_for 60 'complete tuples' has_tuples \
  "$(answered "$dir/reports/before.json" "$dir/reports/during.json" "$dir/reports/after.json")"
kill -TERM "$server_pid"
wait "$server_pid" || { echo "demo: the server did not drain" >&2 && exit 1; }
server_pid=''
kill -TERM "$sidecar_pid"
wait "$sidecar_pid" || { echo "demo: the sidecar did not drain" >&2 && exit 1; }
sidecar_pid=''
"$bin/sortition" log stats "$dir/tuples" --output=json >"$dir/reports/log.json"
"$bin/sortition" log verify "$dir/tuples" --model_store="$dir/models" --output=json \
  >"$dir/reports/verify.json"

say 'result'
python3 tools/demo_report.py table --dir="$dir" --seconds=$((SECONDS - began)) \
  "$($chaos && echo --chaos || echo --no-chaos)"
