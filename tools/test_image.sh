#!/usr/bin/env bash
# Runs the image as an operator would, as a normal user on a read-only root file system,
# requests a ranking from outside the container, and expects a clean drain on SIGTERM.
# usage: tools/test_image.sh IMAGE SORTITION [podman run options ...]
#   SORTITION  the client program, for example build/release/bin/sortition
set -euo pipefail
image=$1 sortition=$2
shift 2

port=18500
container=$(podman --cgroup-manager=cgroupfs run --detach --read-only --network=host "$@" "$image" \
  sortition-server --listen="127.0.0.1:$port" --metrics_listen=127.0.0.1:0 --http.listen=127.0.0.1:0 \
  --model_store=/var/lib/sortition/models --spool.dir=/var/lib/sortition/spool)
trap 'podman rm --force "$container" >/dev/null' EXIT

for _ in $(seq 100); do
  "$sortition" models list --server="127.0.0.1:$port" >/dev/null 2>&1 && break
  sleep 0.1
done
printf '0 1:0.9 2:0.1\n0 1:0.2 2:0.7\n' |
  "$sortition" rank --server="127.0.0.1:$port" --decision_id=image
echo "user in the container: $(podman exec "$container" id -u)"
[ "$(podman exec "$container" id -u)" != 0 ]
if podman exec "$container" touch /etc/written 2>/dev/null; then
  echo "the root file system is writable" >&2 && exit 1
fi
podman kill --signal TERM "$container" >/dev/null
status=$(podman wait "$container")
podman logs "$container" 2>&1 | tail -n 2
echo "exit status after SIGTERM: $status"
[ "$status" = 0 ]
