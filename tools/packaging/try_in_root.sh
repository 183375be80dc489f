#!/bin/bash
# What a new user does on a bare Debian, inside its root: tools/try_packages.sh runs one step after
# the other, each in a network of its own.
# usage: try_in_root.sh serve | check | removed
set -euo pipefail

# start PROGRAM: as its unit does, without systemd.
start() {
  runuser -u sortition -- "$1" "--config=/etc/sortition/${1#sortition-}.textproto" 2>>"/tmp/$1.log" &
  echo $! >"/tmp/$1.pid"
}

# wait_for SECONDS COMMAND ...: until the command succeeds.
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || { echo "in vain: $*" >&2 && tail /tmp/sortition-*.log >&2 && return 1; }
    sleep 0.1
  done
}

stop() {
  local program
  for program in sortition-server sortition-sidecar; do
    kill "$(cat "/tmp/$program.pid")"
  done
  wait
  # The last line that a server writes.
  tail -n 1 /tmp/sortition-server.log | grep -q '"message":"drained"'
}

has_tuples() {
  [ "$(sortition log stats /var/lib/sortition/tuples | grep -c .)" -gt 0 ] &&
    ls /var/lib/sortition/tuples/*.seg
}

case $1 in
  serve)
    start sortition-server
    start sortition-sidecar
    wait_for 60 sortition models list
    printf '0 1:0.9 2:0.1\n0 1:0.2 2:0.7\n0 1:0.4 2:0.4\n' |
      sortition rank --top_k=2 --decision_id=first
    sortition feedback --decision_id=first --reward=1
    wait_for 60 has_tuples
    stop
    ;;
  check)
    # After an upgrade: the decision is in the log still, and the server starts with the changed
    # option, which the operator's file has kept.
    sortition log cat /var/lib/sortition/spool /var/lib/sortition/tuples | grep -q '"first"\|first'
    grep -q 'drain_grace_seconds: 1$' /etc/sortition/server.textproto
    start sortition-server
    start sortition-sidecar
    wait_for 60 sortition models list
    grep -q '"grace_seconds":1' /tmp/sortition-server.log || true
    stop
    grep -q '"message":"draining","grace_seconds":1[,}]' /tmp/sortition-server.log
    ;;
  removed)
    [ ! -e /usr/bin/sortition-server ]
    [ -n "$(ls /var/lib/sortition/models /var/lib/sortition/spool /var/lib/sortition/tuples)" ]
    ;;
esac
