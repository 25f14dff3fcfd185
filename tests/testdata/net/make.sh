#!/bin/sh
# Makes the certificates of certificate_test.cc anew: root -> intermediate -> leaves. The keys are thrown away.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make() {  # name, issuer (empty: itself), subject, extensions
  name=$1 issuer=$2 subject=$3 extensions=$4
  openssl ecparam -name prime256v1 -genkey -noout -out "$work/$name.key"
  openssl req -new -key "$work/$name.key" -subj "$subject" -utf8 -out "$work/$name.csr"
  printf '%b' "$extensions" > "$work/$name.ext"
  if [ -z "$issuer" ]; then
    set -- -signkey "$work/$name.key"
  else
    set -- -CA "$issuer.pem" -CAkey "$work/$issuer.key"
  fi
  openssl x509 -req -in "$work/$name.csr" -days 36500 -sha256 -set_serial "0x$(openssl rand -hex 8)" \
    -extfile "$work/$name.ext" "$@" -out "$name.pem" 2> "$work/log" || { cat "$work/log"; exit 1; }
}

authority='basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n'
make root '' '/CN=test root' "$authority"
make intermediate root '/CN=test intermediate' "$authority"
make client intermediate '/O=team-a/O=team-b/CN=front-proxy-client' 'extendedKeyUsage=clientAuth\n'
make no_usage root '/CN=old' 'basicConstraints=CA:FALSE\n'
make server_only root '/CN=server' 'extendedKeyUsage=serverAuth\n'
