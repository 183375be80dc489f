#!/usr/bin/env bash
# Makes what is released: Debian packages, image (for docker load), lists of ingredients (SBOM, SPDX
# JSON), checksums. Packages of the same commit on the same Debian are the same, byte for byte.
# usage: tools/release.sh [--programs=DIR] [--image|--no-image] [--no-python] [--dirty] OUTPUT
#   OUTPUT          folder that is empty, or not there yet
#   --programs=DIR  programs that are built already, with the Python package in DIR/../python;
#                   default: builds the preset release
#   --no-image      makes no image; default: makes one where buildah or docker is installed
#   --no-python     makes no python3-sortition
#   --dirty         releases the files as they are; default: refuses what is not committed
# SORTITION_MAINTAINER is who answers for the packages: "NAME <ADDRESS>".
# IMAGE_OPTIONS holds options for buildah that this machine needs.
set -euo pipefail

usage='usage: tools/release.sh [--programs=DIR] [--image|--no-image] [--no-python] [--dirty] OUTPUT'
programs='' image=if-possible python=yes dirty='' output=''
for argument in "$@"; do
  case $argument in
    --programs=*) programs=$(realpath -m "${argument#*=}") ;;
    --image) image=yes ;;
    --no-image) image=no ;;
    --no-python) python='' ;;
    --dirty) dirty=yes ;;
    -*) printf 'release.sh: unknown option %s\n%s\n' "$argument" "$usage" >&2 && exit 2 ;;
    *) output=$(realpath -m "$argument") ;;
  esac
done
[ -n "$output" ] || { echo "$usage" >&2 && exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "release.sh: $*" >&2
  exit 1
}
# What an older release left there would stand beside the new checksums.
[ ! -e "$output" ] || [ -z "$(ls -A "$output")" ] || fail "$output is not empty"
for tool in cmake dpkg-shlibdeps git strip /usr/bin/python3; do
  command -v "$tool" >/dev/null || fail "$tool is not installed"
done
if [ -z "$dirty" ]; then
  changed=$(git status --porcelain)
  [ -z "$changed" ] || fail "not committed (--dirty releases it all the same):"$'\n'"$changed"
fi

# The time of everything is that of the newest commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
export TZ=UTC LC_ALL=C.UTF-8
umask 022
version=$(sed -n 's/^project(sortition VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "$programs" ]; then
  cmake --preset release -DSORTITION_COMMIT="$(git rev-parse HEAD)"
  cmake --build --preset release -j "$(nproc)"
  programs=$PWD/build/release/bin
fi
names=(sortition sortition-server sortition-sidecar sortition-trainer)
for program in "${names[@]}"; do
  [ -x "$programs/$program" ] || fail "$programs/$program is missing"
done
stubs=$(realpath -m "$programs/../python")
[ -z "$python" ] || [ -d "$stubs/sortition" ] ||
  fail "$stubs/sortition is missing; --no-python makes no python3-sortition"

# All or nothing: what is unfinished stays in $work. Everything is made from the same sources and
# from the same programs, stripped.
made=$work/release sources=$work/sources
mkdir "$made" "$sources" "$work/bin"
if [ -n "$dirty" ]; then
  tar --exclude=./.git --exclude=./build -c . | tar -x --no-same-permissions -C "$sources"
else
  git archive HEAD | tar -x --no-same-permissions -C "$sources"
fi
for program in "${names[@]}"; do
  strip --remove-section=.comment --remove-section=.note -o "$work/bin/$program" "$programs/$program"
done
programs=$work/bin
cmake -S "$sources/deploy/debian" -B "$work/packages" -DSORTITION_PROGRAMS="$programs" \
  -DSORTITION_PYTHON="${python:+$stubs}" >"$work/log" &&
  (cd "$work/packages" && cpack >>"$work/log" 2>&1) || { tail -n 20 "$work/log" >&2 && exit 1; }
cp "$work"/packages/*.deb "$made/"

list=$made/sortition-$version
more=()
[ -z "$python" ] || more=(--package "$made"/python3-sortition_*.deb)
/usr/bin/python3 "$sources/tools/packaging/sbom.py" --release "$version" --output "$list.spdx.json" \
  "${more[@]}" "${names[@]/#/$programs/}"

# The image takes the programs as they are.
if [ "$image" != no ]; then
  builder=$(command -v buildah || command -v docker || true)
  if [ -z "$builder" ]; then
    [ "$image" != yes ] || fail '--image needs buildah or docker'
    echo 'no image: neither buildah nor docker is installed'
  else
    install -D -t "$sources/programs" "$programs"/sortition*
    archive=$made/sortition-$version.image.tar
    case $builder in
      *buildah)
        # Docker's format: that of OCI has no health check.
        # shellcheck disable=SC2086
        buildah bud --format docker ${IMAGE_OPTIONS:-} --timestamp "$SOURCE_DATE_EPOCH" \
          --tag "sortition:$version" "$sources"
        buildah push "sortition:$version" "docker-archive:$archive:sortition:$version"
        ;;
      *docker)
        docker build --tag "sortition:$version" "$sources"
        docker save --output "$archive" "sortition:$version"
        ;;
    esac
    /usr/bin/python3 "$sources/tools/packaging/sbom.py" --release "$version" \
      --output "$list.image.spdx.json" --image "$archive"
  fi
fi

(cd "$made" && sha256sum -- * >SHA256SUMS)
mkdir -p "$output"
cp "$made"/* "$output/"
echo "release $version:"
cat "$output/SHA256SUMS"
