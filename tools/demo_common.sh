# What all demos share: processes, load and reports. Sourced by demo.sh, which sets
# `bin`, `dir`, `data`, `features`, `action` and `decisions`.
server_pid='' sidecar_pid='' load_pid=''

say() { printf '\n== %s\n' "$*"; }

stop_all() {
  local status=$? pid
  for pid in $load_pid $server_pid $sidecar_pid; do
    kill "$pid" 2>/dev/null || true
  done
  # 130: Ctrl-C.
  if [ "$status" -ne 0 ] && [ "$status" -ne 130 ] && [ -d "$dir/logs" ]; then
    echo "demo failed; the last lines of the processes:" >&2
    tail -n 5 "$dir"/logs/*.log >&2 || true
  fi
}
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
# again, so that the load finds its server. start_server [OPTION ...]
server_port=0
start_server() {
  rm -f "$dir/server.port"
  "$bin/sortition-server" --listen="127.0.0.1:$server_port" \
    --metrics_listen=127.0.0.1:0 --http.listen=127.0.0.1:0 --model_store="$dir/models" \
    --spool.dir="$dir/spool" --spool.segment_seconds=1 --poll_seconds=0.1 \
    --port_file="$dir/server.port" "$@" 2>>"$dir/logs/server.log" &
  server_pid=$!
  wait_for 20 'serving server' test -s "$dir/server.port"
  server_port=$(port_of server rpc)
}

# port_of PROCESS NAME: a port of the process.
port_of() {
  awk -v name="$2" '$1 == name { print $2 }' "$dir/$1.port"
}

# So long users may take to say what they think of an answer.
wait_seconds=2
start_sidecar() {
  "$bin/sortition-sidecar" --spool="$dir/spool" --tuples="$dir/tuples" \
    --reward_wait_time_seconds="$wait_seconds" --slack_seconds=0.5 --segment_seconds=1 \
    --metrics_listen=127.0.0.1:0 --http_listen=127.0.0.1:0 \
    --port_file="$dir/sidecar.port" 2>>"$dir/logs/sidecar.log" &
  sidecar_pid=$!
}

# simulate SEED DECISIONS REPORT [OPTION ...]
simulate() {
  local seed=$1 count=$2 report=$3
  shift 3
  local source=()
  [ -z "$data" ] || source=(--data="$data" ${features:+--features="$features"})
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

# Fits the first version to a few labelled queries.
fit_first_version() {
  local labelled=$data
  if [ -z "$data" ]; then
    labelled=$dir/world.letor
    "$bin/sortition" world --output="$labelled"
  fi
  "$bin/sortition-trainer" fit --data="$labelled" ${features:+--features="$features"} \
    --model_store="$dir/models" \
    --action="$action" --max_queries=20 --inverse_temperature=0.5 \
    --uniform_mixture=0.1
}

# Ends both processes as an operator would, and looks at what they logged.
drain_and_verify() {
  kill -TERM "$server_pid"
  wait "$server_pid" || { echo "demo: the server did not drain" >&2 && exit 1; }
  server_pid=''
  kill -TERM "$sidecar_pid"
  wait "$sidecar_pid" || { echo "demo: the sidecar did not drain" >&2 && exit 1; }
  sidecar_pid=''
  "$bin/sortition" log stats "$dir/tuples" --output=json >"$dir/reports/log.json"
  "$bin/sortition" log verify "$dir/tuples" --model_store="$dir/models" --output=json \
    >"$dir/reports/verify.json"
}
