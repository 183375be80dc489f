#!/bin/bash
# What a new user does on a bare Debian, inside its root: tools/try_packages.sh runs one step after
# the other, each in a network of its own.
# usage: try_in_root.sh serve | python | npm | node | frame | check | removed
set -euo pipefail
user=ann  # Who has just come, without rights.

# start PROGRAM [OPTION ...]: as its unit does, without systemd.
start() {
  local program=$1
  shift
  setpriv --reuid=sortition --regid=sortition --init-groups \
    "$program" "--config=/etc/sortition/${program#sortition-}.textproto" "$@" 2>>"/tmp/$program.log" &
}

# start_all [OPTION ...]: server and sidecar, the latter with these options; waits for the server.
start_all() {
  start sortition-server
  start sortition-sidecar "$@"
  wait_for 60 sortition models list
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

# Server and sidecar end on SIGTERM; the last line of a server says that it has drained.
stop() {
  # setpriv becomes the program.
  # shellcheck disable=SC2046
  kill $(jobs -p)
  wait
  tail -n 1 /tmp/sortition-server.log | grep -q '"message":"drained"' ||
    { tail /tmp/sortition-*.log >&2 && return 1; }
}

# example LANGUAGE: the program in packages.md, as a reader copies it.
example() {
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" /usr/share/doc/sortition/packages.md
}

# as_user COMMAND: a line that the user types in a new session.
as_user() {
  runuser --login "$user" --command "$1"
}

# The line of packages.md that reads tuples; prints the frame if it has the decision "framed".
show_frame() {
  local line
  line=$(sed -n '/^python3 -c .*to_frame/p' /usr/share/doc/sortition/packages.md)
  as_user "$line" >/tmp/frame && grep framed /tmp/frame
}

has_tuple() {
  sortition log cat /var/lib/sortition/tuples | grep -q first
}

case $1 in
  serve)
    begin=$SECONDS
    # A window of ten minutes is too long for a trial.
    start_all --reward_wait_time_seconds=1 --segment_seconds=1
    printf '0 1:0.9 2:0.1\n0 1:0.2 2:0.7\n0 1:0.4 2:0.4\n' |
      sortition rank --top_k=2 --decision_id=first
    echo "first ranking $((SECONDS - begin)) s after the start"
    sortition feedback --decision_id=first --reward=1
    wait_for 60 has_tuple
    stop
    ;;
  python)
    useradd --create-home --shell /bin/bash "$user"
    start_all
    example python | as_user 'cat >first.py'
    as_user '/usr/bin/python3 first.py'
    stop
    ;;
  npm)
    as_user 'npm install --no-audit --no-fund /usr/share/sortition/node/sortition.tgz'
    ;;
  node)
    start_all
    example js | as_user 'cat >first.mjs'
    as_user 'node first.mjs'
    stop
    ;;
  frame)
    # Before: said in so many words. Then as packages.md has it.
    (as_user 'sortition log stats /var/lib/sortition/tuples' 2>&1 || true) | grep 'Permission denied'
    sed -i 's/reward_wait_time_seconds: .*/reward_wait_time_seconds: 5/' /etc/sortition/sidecar.textproto
    usermod --append --groups sortition "$user"
    start_all
    sortition rank --decision_id=framed <<<'0 1:0.9 2:0.1'
    wait_for 60 show_frame
    cat /tmp/frame
    stop
    ;;
  check)
    # After an upgrade: the decision is in the log still, and the server starts with the changed
    # option, which the operator's file has kept.
    has_tuple
    grep -q 'drain_grace_seconds: 1$' /etc/sortition/server.textproto
    start_all
    stop
    grep -q 'reward_wait_time_seconds: 5$' /etc/sortition/sidecar.textproto
    grep -q '"message":"draining","grace_seconds":1.0[,}]' /tmp/sortition-server.log
    ;;
  removed)
    [ ! -e /usr/bin/sortition-server ]
    [ -n "$(ls /var/lib/sortition/models /var/lib/sortition/spool /var/lib/sortition/tuples)" ]
    ;;
esac
