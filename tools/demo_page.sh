# ./dev demo --page: visitors of a search page teach a first model. Sourced by demo.sh.
! $chaos && ! $rollout || { echo 'demo: --page goes with neither --chaos nor --rollout' >&2 && exit 2; }
case $data in
  '' | *.tsv) ;;
  *) echo "demo: --data is $data, must be a .tsv with --page" >&2 && exit 2 ;;
esac
node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null || {
  echo 'demo: --page needs node 18 or later: apt-get install nodejs' >&2 && exit 2
}

# A person reads before clicking.
wait_seconds=20
visitors_per_second=100

# Serves the search page until the demo ends.
start_page() {
  node examples/search/server.mjs --listen=127.0.0.1:0 --sortition="$status_page" \
    ${data:+--data="$data"} --visitors="$visitors_per_second" \
    --port_file="$dir/page.port" >"$dir/logs/page.log" 2>&1 &
  load_pid=$!
  wait_for 20 'search page' test -s "$dir/page.port"
}

# Trains as soon as there are enough tuples, again with twice as many if the gate says no.
learn() {
  local wanted=2000 code
  while true; do
    wait_for 600 "$wanted complete tuples" has_tuples "$wanted"
    code=0
    "$bin/sortition-trainer" train --tuples="$dir/tuples" --model_store="$dir/models" \
      --action=rank --features="${features:-deploy/features/answers.textproto}" \
      --clamp_rewards --report="$dir/reports/train.json" >"$dir/logs/train.log" 2>&1 || code=$?
    [ "$code" -ne 0 ] || return 0
    [ "$code" -eq 3 ] || [ "$code" -eq 4 ] || { cat "$dir/logs/train.log" >&2 && exit 1; }
    wanted=$((2 * wanted))
    echo "the gate wants to see more: training again with $wanted tuples"
  done
}

# look VERSION: keeps the status; succeeds if it knows what VERSION is worth.
look() {
  python3 tools/demo_report.py worth --url="$status_page" --save="$dir/reports/status.json" \
    --version="$1"
}

prepare_dir
mkdir -p "$dir/spool"
start_sidecar
wait_for 20 'sidecar' test -s "$dir/sidecar.port"
# Simulated visitors do not mind: all orders are drawn at random, so that the demo is short.
start_server --http.sidecar="127.0.0.1:$(port_of sidecar http)" --cold_start.explore=1
status_page=http://127.0.0.1:$(port_of server http)
start_page

say 'open these, and watch'
echo "search page  http://127.0.0.1:$(port_of page http)"
echo "status page  $status_page"
echo "Clicks within $wait_seconds seconds count. Ctrl-C ends it."

say "there is no model: orders are drawn at random for $visitors_per_second visitors per second"
learn
tail -n 2 "$dir/logs/train.log"

say 'the new version serves; its first rewards come when its first visitors had their time'
wait_for 120 'rewards of the new version' look 1
echo 'the reward line of the status page rises'

stopped=false
trap 'stopped=true' INT TERM
until=$((SECONDS + ${seconds:-1000000000}))
until $stopped || [ $SECONDS -ge $until ]; do
  look 1 2>/dev/null || true
  sleep 1 || true
done

say 'result'
code=0
python3 tools/demo_report.py page "$dir/reports/status.json" || code=$?
exit $code
