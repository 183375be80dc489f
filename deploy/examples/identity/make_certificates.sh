#!/bin/sh
# Makes an authority, and certificates that it signs for a server and a client, in the present folder. For trials: a
# real authority keeps its key elsewhere. usage: make_certificates.sh [HOST]
set -eu
host=${1:-localhost}
umask 077

make_key() {
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$1.key"
}

# sign NAME ALTERNATIVE_NAMES
sign() {
  make_key "$1"
  openssl req -new -key "$1.key" -subj "/CN=$1" -addext "subjectAltName=$2" |
    openssl x509 -req -CA authority.pem -CAkey authority.key -CAcreateserial -copy_extensions copy -days 365 \
      -out "$1.pem"
}

make_key authority
openssl req -x509 -new -key authority.key -subj /CN=authority -days 3650 -out authority.pem
sign server "DNS:$host,DNS:localhost,IP:127.0.0.1"
sign client "DNS:client"
