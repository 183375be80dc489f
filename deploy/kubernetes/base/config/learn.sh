#!/bin/sh
# learn.sh train: learns, unless a version is taking over, and lets what passes the gate begin to.
# learn.sh rollout: lets the version that is taking over, if there is one, take a step.
set -eu

is_under_way() {
  sortition-trainer rollout --status --output=json --config=/etc/sortition/rollout.textproto |
    grep -q '"outcome": "RUNNING"'
}

case $1 in
  train)
    if is_under_way; then
      echo 'a version is taking over: nothing is learned meanwhile'
      exit 0
    fi
    set -- sortition-trainer train --rollout --config=/etc/sortition/trainer.textproto
    ;;
  rollout)
    is_under_way || exit 0
    set -- sortition-trainer rollout --config=/etc/sortition/rollout.textproto
    ;;
  *)
    echo "learn.sh: '$1', must be train or rollout" >&2
    exit 2
    ;;
esac

# Status 3 is an answer and no failure: the gate said no, or a version went back.
"$@" || {
  status=$?
  [ "$status" -eq 3 ] || exit "$status"
}
