#!/usr/bin/env bash
# Makes what is released: Debian packages, image (for docker load), list of ingredients (SBOM, SPDX
# JSON), checksums. The same sources on the same Debian give the same bytes.
# usage: tools/release.sh [--programs=DIR] [--image|--no-image] OUTPUT
#   --programs=DIR  programs that are built already, with the Python package in DIR/../python;
#                   default: builds the preset release
#   --no-image      makes no image; default: makes one where buildah or docker is installed
# SORTITION_MAINTAINER is who answers for the packages: "NAME <ADDRESS>".
# IMAGE_OPTIONS holds options for buildah that this machine needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

programs='' image=if-possible output=''
for argument in "$@"; do
  case $argument in
    --programs=*) programs=$(realpath "${argument#*=}") ;;
    --image) image=yes ;;
    --no-image) image=no ;;
    -*) echo "release.sh: unknown option $argument; --programs=DIR, --image or --no-image" >&2 && exit 2 ;;
    *) output=$argument ;;
  esac
done
[ -n "$output" ] || { echo 'usage: tools/release.sh [--programs=DIR] [--image|--no-image] OUTPUT' >&2 && exit 2; }
for tool in cmake dpkg-shlibdeps /usr/bin/python3; do
  command -v "$tool" >/dev/null || { echo "release.sh: $tool is not installed" >&2 && exit 1; }
done

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
for program in sortition sortition-server sortition-sidecar sortition-trainer; do
  [ -x "$programs/$program" ] || { echo "release.sh: $programs/$program is missing" >&2 && exit 1; }
done

# All or nothing: what is unfinished stays in $work.
made=$work/release
mkdir "$made"
cmake -S deploy/debian -B "$work/packages" -DSORTITION_PROGRAMS="$programs" >"$work/log" &&
  (cd "$work/packages" && cpack >>"$work/log" 2>&1) || { tail -n 20 "$work/log" >&2 && exit 1; }
cp "$work"/packages/*.deb "$made/"

/usr/bin/python3 tools/packaging/sbom.py --release "$version" --output "$made/sortition-$version.spdx.json" \
  "$programs"/sortition "$programs"/sortition-server "$programs"/sortition-sidecar "$programs"/sortition-trainer

# The image takes the programs as they are.
if [ "$image" != no ]; then
  builder=$(command -v buildah || command -v docker || true)
  if [ -z "$builder" ]; then
    [ "$image" != yes ] || { echo 'release.sh: --image needs buildah or docker' >&2 && exit 1; }
    echo 'no image: neither buildah nor docker is installed'
  else
    context=$work/context
    mkdir -p "$context/programs"
    git archive HEAD | tar -x -C "$context"
    install "$programs"/sortition* "$context/programs/"
    archive=$made/sortition-$version.image.tar
    case $builder in
      *buildah)
        # Docker's format: that of OCI has no health check.
        # shellcheck disable=SC2086
        buildah bud --format docker ${IMAGE_OPTIONS:-} --timestamp "$SOURCE_DATE_EPOCH" \
          --tag "sortition:$version" "$context"
        buildah push "sortition:$version" "docker-archive:$archive:sortition:$version"
        ;;
      *docker)
        docker build --tag "sortition:$version" "$context"
        docker save --output "$archive" "sortition:$version"
        ;;
    esac
  fi
fi

(cd "$made" && sha256sum -- * >SHA256SUMS)
mkdir -p "$output"
cp "$made"/* "$output/"
echo "release $version:"
cat "$output/SHA256SUMS"
