#!/bin/sh
# Alerts against made-up series. usage: alerts_test.sh DIRECTORY
set -eu
command -v promtool >/dev/null || { echo 'skipped: no promtool; ./dev setup test' && exit 77; }
cd "$1"
promtool test rules ./*.yml
