# ./dev demo --rollout: a better version takes over step by step; a worse one goes back.
# Sourced by demo.sh.
batches=()

# serve_batch DECISIONS: users come, and their feedback is joined.
serve_batch() {
  local number=$((${#batches[@]} + 1))
  simulate "$number" "$1" "batch$number" --units=1000000 >/dev/null
  batches+=("$dir/reports/batch$number.json")
  wait_for 60 'complete tuples' has_tuples "$(answered "${batches[@]}")"
}

# roll NAME: serves and takes steps until the rollout has an outcome.
roll() {
  local name=$1 step outcome=RUNNING
  for step in $(seq 12); do
    serve_batch 5000
    "$bin/sortition-trainer" rollout --tuples="$dir/tuples" --model_store="$dir/models" \
      --metrics="127.0.0.1:$(awk '$1 == "metrics" { print $2 }' "$dir/server.port")" \
      --output=json >"$dir/reports/$name.json" || [ $? -eq 3 ]
    python3 tools/demo_report.py step "$dir/reports/$name.json"
    outcome=$(python3 tools/demo_report.py outcome "$dir/reports/$name.json")
    [ "$outcome" = RUNNING ] || return 0
  done
  echo "demo: the rollout has no outcome after $step steps" >&2 && exit 1
}

# The users of the demo know in seconds what they think of an answer.
plan=(--plan.shares=0.1,0.5 --plan.margins=0.05,0.01 --plan.min_seconds=0
  --plan.unit_window_seconds=0.5)

say 'a first model from 20 labelled queries; it serves'
fit_first_version
start_server
start_sidecar
serve_batch 20000

say 'the trainer learns; the new version begins with a tenth of the users'
"$bin/sortition-trainer" train --tuples="$dir/tuples" --model_store="$dir/models" \
  --report="$dir/reports/train.json" --rollout "${plan[@]}"
roll promotion
"$bin/sortition" models describe --server="127.0.0.1:$server_port"

say 'a regression: version 1 again, as version 3'
"$bin/sortition" models pin 2 --server="127.0.0.1:$server_port" \
  --reason='version 3 is to begin with few users'
"$bin/sortition-trainer" publish --from_version=1 --model_store="$dir/models" \
  --reason='a regression to provoke a rollback'
"$bin/sortition-trainer" rollout --start --version=3 --model_store="$dir/models" \
  --reason='try version 3' "${plan[@]}"
roll regression
"$bin/sortition" models describe --server="127.0.0.1:$server_port"

say 'drain'
drain_and_verify

say 'result'
python3 tools/demo_report.py rollout --dir="$dir" --seconds=$((SECONDS - began)) \
  "${batches[@]}"
