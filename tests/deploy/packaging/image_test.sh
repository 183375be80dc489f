#!/usr/bin/env bash
# The container image of this build, run in each of its roles. IMAGE_OPTIONS go to buildah.
# usage: image_test.sh SOURCES PROGRAMS
set -euo pipefail
sources=$1 programs=$2

skip() {
  echo "skipped: $*"
  exit 77
}
for tool in buildah podman runc; do
  command -v "$tool" >/dev/null || skip "no $tool; ./dev test --with containers"
done
[ "$(id -u)" = 0 ] || skip 'needs root; ./dev test --with containers as root'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$sources/tools/release.sh" --image --dirty --no-python "--programs=$programs" "$work/release"
version=$(sed -n 's/^project(sortition VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")
"$sources/tools/test_image.sh" "sortition:$version"
