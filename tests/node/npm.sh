#!/usr/bin/env bash
# npm of this machine. If there is none, a pinned one from its registry, because that of Debian
# brings 350 packages. usage: tests/node/npm.sh ARGUMENT ...
set -euo pipefail
! command -v npm >/dev/null || exec npm "$@"
version=10.9.4
sum=3a7506f37e85c1ba1021baad79f0cd9724748131f321fc117c4dc3ba235ec01be7327584a41d15117c01945560aa9373220628fcc1e1dddd877a5fe9b336a900
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/npm
mkdir -p "$folder"
exec 8>"$folder/lock"
flock 8
if [ ! -e "$folder/$version" ]; then
  curl -fsS -o "$folder/npm.tgz" "https://registry.npmjs.org/npm/-/npm-$version.tgz"
  echo "$sum  $folder/npm.tgz" | sha512sum --check --quiet >&2
  rm -rf "$folder/package"
  tar xzf "$folder/npm.tgz" -C "$folder"
  mv "$folder/package" "$folder/$version"
fi
exec 8>&-
exec node "$folder/$version/bin/npm-cli.js" "$@"
