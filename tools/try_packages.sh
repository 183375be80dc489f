#!/usr/bin/env bash
# Tries the packages on a bare Debian, as a new user would: installs them into a minimal root,
# starts server and sidecar by their configurations, asks for a first ranking from the shell, from
# Python and from Node, reads the tuples into a data frame, upgrades, removes. Looks at the units
# with systemd-analyze, too. Needs root, debootstrap, a Debian mirror and npm's registry.
# usage: tools/try_packages.sh PACKAGES NEWER [ROOT]
#   PACKAGES  folder of the packages
#   NEWER     folder of the same packages with a higher version, for the upgrade
#   ROOT      tar file of a minimal Debian 12; without it debootstrap makes one
# SORTITION_PATIENCE multiplies the limits, where a machine has other things to do.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$(realpath "$1") newer=$(realpath "$2") tar=${3:-}

work=$(mktemp -d)
root=$work/root
cleanup() {
  if mountpoint -q "$root/proc" && ! umount "$root/proc"; then
    echo "try_packages.sh: $root/proc is still mounted; $work stays" >&2
    return
  fi
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

if [ -n "$tar" ]; then
  mkdir "$root" && tar -C "$root" -xf "$tar"
else
  debootstrap --variant=minbase bookworm "$root" >/dev/null
fi
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Whom this machine trusts besides, such as a proxy between here and npm's registry.
trusted=/usr/local/share/ca-certificates
[ ! -d "$trusted" ] || { mkdir -p "$root$trusted" && cp -R "$trusted/." "$root$trusted/"; }
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d"
install "$here/packaging/try_in_root.sh" "$root/usr/local/bin/try_in_root"

in_root() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
# Ports of its own; whatever is left when the step ends is killed.
alone() { unshare --net --pid --fork --kill-child bash -c 'ip link set lo up && exec chroot "$0" env LC_ALL=C.UTF-8 PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$root" "$@"; }
# apt_install FOLDER [OPTION ...]: what stands in it.
apt_install() {
  rm -rf "$root/packages" && mkdir "$root/packages" && cp "$1"/*.deb "$root/packages/"
  shift
  in_root sh -c 'apt-get install -q -y --no-install-recommends "$@" /packages/*.deb' install "$@" \
    >>"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2 && return 1; }
}
# debian_install PACKAGE ...: of Debian, without what they recommend.
debian_install() {
  in_root apt-get install -q -y --no-install-recommends "$@" >>"$work/log" 2>&1 ||
    { tail -n 30 "$work/log" >&2 && return 1; }
}
# within SECONDS WHAT LIMIT: says how long it took, and fails if that is too long.
within() {
  local limit=$(($3 * ${SORTITION_PATIENCE:-1}))
  echo "$2 after $1 s, installation included; at most $limit s"
  [ "$1" -lt "$limit" ]
}

in_root apt-get update -q >"$work/log" 2>&1
begin=$SECONDS
apt_install "$packages" --download-only
echo "downloaded what Debian has in $((SECONDS - begin)) s"
begin=$SECONDS
times >"$work/before"
apt_install "$packages"
times >"$work/after"
installed=$((SECONDS - begin))
# The second line of each is the time of children, as 1m2.3s of the user and of the system.
processor=$(awk 'FNR == 2 { gsub("[ms]", " "); now = 60 * $1 + $2 + 60 * $3 + $4; used = now - last; last = now }
  END { printf "%.0f", used }' "$work/before" "$work/after")
echo "installed in $installed s, of which the processor worked for $processor s"
alone try_in_root serve
echo "feedback, tuple and drain after $((SECONDS - begin)) s, installation included"

# Each of these begins with the installation; downloads count.
begin=$SECONDS
alone try_in_root python
within $((installed + SECONDS - begin)) 'an answer by Python' 180
begin=$SECONDS
debian_install nodejs npm
in_root try_in_root npm >>"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2 && exit 1; }
alone try_in_root node
within $((installed + SECONDS - begin)) 'an answer by Node' 300
begin=$SECONDS
debian_install python3-pandas
alone try_in_root frame
within $((installed + SECONDS - begin)) 'tuples in a data frame' 300

# The units, among the targets and slices that this machine has: the bare Debian has none.
if command -v systemd-analyze >/dev/null; then
  look=$work/look
  for package in "$packages"/sortition*.deb; do
    dpkg-deb --extract "$package" "$look"
  done
  mkdir "$look/bin" && cp /bin/sh "$look/bin/"
  cp /lib/systemd/system/*.target /lib/systemd/system/*.slice "$look/lib/systemd/system/"
  for unit in "$look"/lib/systemd/system/sortition-*.service "$look"/lib/systemd/system/sortition-*.timer; do
    systemd-analyze verify --root="$look" --man=no "$unit"
  done
  for unit in server sidecar trainer rollout; do
    systemd-analyze security --offline=true --root="$look" "sortition-$unit.service" | tail -n 1
  done
else
  echo 'the units are not looked at: no systemd-analyze (package systemd)'
fi

sed -i 's/^drain_grace_seconds: .*/drain_grace_seconds: 1/' "$root/etc/sortition/server.textproto"
apt_install "$newer"
in_root dpkg-query --show 'sortition*'
alone try_in_root check
echo 'the upgrade kept configuration and log'

in_root apt-get remove -q -y 'sortition*' >>"$work/log" 2>&1
in_root try_in_root removed
echo 'the removal left the data'
in_root apt-get purge -q -y 'sortition*' 2>&1 | tee -a "$work/log" | grep '^sortition-server: '
in_root try_in_root removed
[ ! -e "$root/etc/sortition" ]
echo 'the purge left the data, and said so'
