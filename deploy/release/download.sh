#!/bin/sh
# Installs knack from a release into a folder, for the action of action.yml and the hooks of
# pre-commit.
#
#   sh download.sh v0.1.0 FOLDER
#
# It accepts only files whose digests are in SHA256SUMS, and SHA256SUMS only with a signature by the
# key in knack.pub beside this script. It exits with 3 if no release fits, and the caller builds
# knack instead. It exits with 1 if a release fits but one of its files fails verification.
set -eu

main() {
  version=$1
  mkdir -p "$2"
  folder=$(cd "$2" && pwd)
  key=$(cd "$(dirname "$0")" && pwd)/knack.pub
  from=${KNACK_DOWNLOAD:-https://github.com/knack-dev/knack/releases/download/$version}

  [ -f "$key" ] || none "the repository has no knack.pub, the key of its releases"
  case $version in
  *[!v0-9.]*) none "'$version' is no version of a release" ;;
  v[0-9]*.[0-9]*.[0-9]*) ;;
  *) none "'$version' is no version of a release" ;;
  esac
  command -v openssl >/dev/null 2>&1 || none "openssl is missing, which verifies signatures"
  command -v curl >/dev/null 2>&1 || none "curl is missing"

  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
  cd "$scratch"
  download SHA256SUMS || none "there is no release at $from"
  download SHA256SUMS.sig || fail "the release has no signature, SHA256SUMS.sig"
  openssl base64 -d -A -in SHA256SUMS.sig -out signature || fail "SHA256SUMS.sig is no base64"
  openssl dgst -sha256 -verify "$key" -signature signature SHA256SUMS >/dev/null 2>&1 ||
    fail "the signature of SHA256SUMS is not by the key in knack.pub"
  # An older release has a valid signature, too.
  grep -q "  knack_${version#v}\.cdx\.json\$" SHA256SUMS || fail "SHA256SUMS is not of $version"
  want=$(sed -n 's/  install\.sh$//p' SHA256SUMS)
  download install.sh || fail "the release has no install.sh"
  got=$(openssl dgst -sha256 -r install.sh | cut -d ' ' -f 1)
  [ "$got" = "$want" ] || fail "the SHA-256 of install.sh is $got, and should be $want"
  # install.sh contains the digests of the archives. It exits with 3 if there is no archive for this
  # system.
  KNACK_DOWNLOAD=$from KNACK_BIN=$folder KNACK_MAN=$scratch/man sh install.sh
}

download() {
  curl -fsSL -o "$1" -- "${from%/}/$1"
}

fail() {
  echo "knack: $*: nothing is installed" >&2
  exit 1
}

none() {
  echo "knack: $*" >&2
  exit 3
}

main "$@"
