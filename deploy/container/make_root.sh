#!/bin/sh
# Puts together the root file system of the image: programs, what they are linked with, a shell
# with its tools (busybox), tini, certificates of authorities, and the licences of all of it.
# usage: make_root.sh FOLDER PROGRAMS OUTPUT
#   FOLDER    this folder, with LICENSE and NOTICE beside it or in it
#   PROGRAMS  folder of the four programs
set -eu
folder=$1 programs=$2 output=$3
uid=10001

mkdir -p "$output/bin" "$output/sbin" "$output/etc/ssl/certs" "$output/usr/local/bin" \
  "$output/usr/share/doc/sortition"
install -d -m 1777 "$output/tmp"
install "$programs"/sortition* "$folder/sortition-health" "$folder/sortition-learn" "$output/usr/local/bin/"

install /bin/busybox "$output/bin/busybox"

# The libraries, under the names by which they are looked for.
ldd "$output/bin/busybox" "$output"/usr/local/bin/sortition "$output"/usr/local/bin/sortition-server \
  "$output"/usr/local/bin/sortition-sidecar "$output"/usr/local/bin/sortition-trainer |
  sed -n 's/.* => \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) .*/\1/p' | sort -u >/tmp/libraries
while read -r library; do
  install -D "$library" "$output$library"
done </tmp/libraries

for tool in $(busybox --list); do
  [ "$tool" = busybox ] || ln -sf /bin/busybox "$output/bin/$tool"
done
install /usr/bin/tini-static "$output/sbin/tini"
cp /etc/ssl/certs/ca-certificates.crt "$output/etc/ssl/certs/"
# Where Debian's OpenSSL looks for them.
mkdir -p "$output/usr/lib/ssl"
ln -s /etc/ssl/certs "$output/usr/lib/ssl/certs"
ln -s /etc/ssl/certs/ca-certificates.crt "$output/usr/lib/ssl/cert.pem"
cp -L /etc/os-release "$output/etc/os-release"

# Who the programs run as, and how they find names.
cat >"$output/etc/passwd" <<TEXT
root:x:0:0:root:/root:/bin/sh
sortition:x:$uid:$uid:Sortition:/var/lib/sortition:/bin/sh
TEXT
printf 'root:x:0:\nsortition:x:%s:\n' "$uid" >"$output/etc/group"
echo 'hosts: files dns' >"$output/etc/nsswitch.conf"
install -d -o "$uid" -g "$uid" "$output/var/lib/sortition"
for part in models spool mirror tuples; do
  install -d -o "$uid" -g "$uid" "$output/var/lib/sortition/$part"
done

# Licences, and the list of packages that what looks for known flaws reads.
cp "$folder/LICENSE" "$folder/NOTICE" "$output/usr/share/doc/sortition/"
mkdir -p "$output/var/lib/dpkg/status.d"
# Where /lib is a link to /usr/lib, dpkg knows some files by the one name and some by the other.
packages=$(xargs -n 1 readlink -f </tmp/libraries | sed 'p; s|^/usr||' |
  xargs dpkg-query --search 2>/dev/null | cut -d: -f1 | sort -u)
for package in $packages busybox tini ca-certificates; do
  mkdir -p "$output/usr/share/doc/$package"
  cp -L "/usr/share/doc/$package/copyright" "$output/usr/share/doc/$package/copyright"
  dpkg-query --status "$package" | grep -v '^Conffiles:\|^ /' >"$output/var/lib/dpkg/status.d/$package"
done
