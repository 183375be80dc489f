#!/usr/bin/env bash
# Runs the image as an operator would, in each of its roles: small, as a normal user, on a read-only
# root file system, healthy as its role says, and with a clean drain under load on SIGTERM. Every
# container has a network of its own, so that no port of the machine is taken.
# usage: tools/test_image.sh IMAGE [podman run options ...]
set -euo pipefail
image=$1
shift
options=("$@")
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../deploy/examples" && pwd)
most_bytes=120000000

fail() {
  echo "test_image.sh: $*" >&2
  exit 1
}

podman() {
  command podman --cgroup-manager=cgroupfs "$@"
}

containers=()
volume=$(podman volume create)
cleanup() {
  [ ${#containers[@]} -eq 0 ] || podman rm --force "${containers[@]}" >/dev/null
  podman volume rm "$volume" >/dev/null
}
trap cleanup EXIT

# run NAME [OPTION ...] [-- COMMAND ...]: starts a container; its id is in $NAME.
run() {
  local name=$1 more=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    more+=("$1")
    shift
  done
  [ $# -eq 0 ] || shift
  local id
  id=$(podman run --detach --read-only --tmpfs /tmp --network=none --no-healthcheck --cap-drop=all \
    --security-opt=no-new-privileges --volume "$examples:/etc/sortition:ro" \
    --volume "$volume:/var/lib/sortition" "${options[@]}" "${more[@]}" "$image" "$@")
  containers+=("$id")
  printf -v "$name" '%s' "$id"
}

# Waits until the container is healthy.
wait_healthy() {
  for _ in $(seq 300); do
    ! podman exec "$1" sortition-health 2>/dev/null || return 0
    sleep 0.1
  done
  podman logs "$1" >&2
  fail "the $2 is not healthy after 30 s"
}

# end CONTAINER NAME: SIGTERM; expects exit status 0.
end() {
  podman kill --signal TERM "$1" >/dev/null
  local status
  status=$(podman wait "$1")
  [ "$status" = 0 ] || { podman logs "$1" >&2 && fail "the $2 ends with status $status after SIGTERM"; }
  echo "$2: status 0 after SIGTERM"
}

bytes=$(podman image inspect --format '{{.Size}}' "$image")
echo "size: $((bytes / 1000000)) MB"
[ "$bytes" -lt "$most_bytes" ] || fail "the image has $bytes bytes, must be below $most_bytes"

run server -- sortition-server --config=/etc/sortition/server.textproto
run sidecar -- sortition-sidecar --config=/etc/sortition/sidecar.textproto --reward_wait_time_seconds=1 \
  --segment_seconds=1
run trainer -- sortition-learn /etc/sortition/trainer.textproto /etc/sortition/rollout.textproto
for name in server sidecar trainer; do
  wait_healthy "${!name}" "$name"
  echo "$name: healthy"
  [ "$(podman exec "${!name}" id -u)" = 10001 ] || fail "the $name does not run as user 10001"
  [ "$(podman exec "${!name}" cat /proc/1/comm)" = tini ] || fail "pid 1 of the $name is not tini"
  ! podman exec "${!name}" touch /etc/written 2>/dev/null || fail "the root file system is writable"
done
# OpenSSL, which streams with TLS use, finds the authorities whom everybody trusts.
podman exec "$server" test -s /usr/lib/ssl/cert.pem || fail '/usr/lib/ssl/cert.pem is missing'
# A check can fail, too.
! podman exec --env SORTITION_HEALTH_URL=http://127.0.0.1:1/ "$server" sortition-health ||
  fail 'a port that is closed counts as healthy'

printf '0 1:0.9 2:0.1\n0 1:0.2 2:0.7\n' | podman exec --interactive "$server" sortition rank --decision_id=image

# Users ask until the server has gone.
podman exec "$server" sortition simulate --decisions=1000000 --connections=4 --max_attempts=1 >/dev/null 2>&1 &
load=$!
for _ in $(seq 300); do
  ! podman exec "$server" wget -q -O - http://127.0.0.1:8501/metrics |
    grep -q '^sortition_requests_total{.*method="Select".*} [0-9]\{3,\}' || break
  sleep 0.1
done
end "$server" server
wait "$load" || true
podman logs "$server" 2>&1 | tail -n 1 | grep -q '"message":"drained"' || fail 'the server did not drain'
end "$sidecar" sidecar
end "$trainer" trainer

# As pid 1 itself, where an orchestrator replaces the entry point.
run bare --entrypoint='["sortition-server","--config=/etc/sortition/server.textproto"]'
wait_healthy "$bare" server
podman exec "$bare" sortition log verify /var/lib/sortition/spool /var/lib/sortition/tuples |
  tail -n 5
end "$bare" 'server as pid 1'
