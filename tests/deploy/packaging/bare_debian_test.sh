#!/usr/bin/env bash
# Packages of this build on a bare Debian: installs, serves, upgrades, is removed. With --long.
# usage: bare_debian_test.sh SOURCES PROGRAMS
set -euo pipefail
sources=$1 programs=$2

skip() {
  echo "skipped: $*"
  exit 77
}
[ "${SORTITION_LONG:-}" = 1 ] || skip 'takes minutes; ./dev test --long'
[ "$(id -u)" = 0 ] || skip 'needs root; ./dev test --long as root'
for tool in debootstrap dpkg-shlibdeps unshare ip; do
  command -v "$tool" >/dev/null || skip "no $tool; ./dev test --long"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=1000000000
for version in 1.0.0 1.0.1; do
  cmake -S "$sources/deploy/debian" -B "$work/$version" -DSORTITION_PROGRAMS="$programs" \
    -DSORTITION_PACKAGE_VERSION="$version" >/dev/null
  (cd "$work/$version" && cpack >/dev/null)
done
"$sources/tools/try_packages.sh" "$work/1.0.0" "$work/1.0.1"
