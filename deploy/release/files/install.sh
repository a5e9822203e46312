#!/bin/sh
# Installs knack <<version>> for this user: the program into ~/.local/bin (or $KNACK_BIN), and the
# manual pages into ~/.local/share/man/man1 (or $KNACK_MAN). It does not need root, and changes
# nothing else.
#
#   sh install.sh            downloads the archive for this system
#   sh install.sh FILE       installs an archive that was downloaded before
#
# It installs only archives whose digests are in this script.
set -eu

main() {
  version=<<version>>
  from=${KNACK_DOWNLOAD:-<<url "">>}
  bin=${KNACK_BIN:-$HOME/.local/bin}
  man=${KNACK_MAN:-$HOME/.local/share/man/man1}

  case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) none "there is no knack for $(uname -s) here: see https://github.com/knack-dev/knack/releases" ;;
  esac
  case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) none "there is no knack for $(uname -m): build it from source" ;;
  esac
  name=knack_${version}_${system}_$arch
  case $name.tar.gz in
<<- range tarballs>>
  <<.>>) want=<<digest .>> ;;
<<- end>>
  *) none "this script has no digest for $name.tar.gz" ;;
  esac

  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
  if [ $# -gt 0 ]; then
    cp -- "$1" "$scratch/archive"
  else
    echo "downloading ${from%/}/$name.tar.gz"
    download "${from%/}/$name.tar.gz" "$scratch/archive" || fail "the download failed; nothing was installed"
  fi
  got=$(digest "$scratch/archive")
  [ "$got" = "$want" ] || fail "the archive is not knack $version for $system/$arch: its SHA-256 is $got, and should be $want; nothing was installed"

  tar -xzf "$scratch/archive" -C "$scratch"
  mkdir -p "$bin" "$man"
  # A running knack keeps its own file, since the new file replaces it by a rename.
  cp "$scratch/$name/knack" "$bin/.knack.new"
  chmod 755 "$bin/.knack.new"
  mv -f "$bin/.knack.new" "$bin/knack"
  cp "$scratch/$name"/man/*.1 "$man"
  echo "installed $bin/knack and the manual pages in $man"
  case :$PATH: in
  *:"$bin":*) echo "try: knack list" ;;
  *)
    echo "put it into PATH, and into the file that your shell reads at its start, such as ~/.profile:"
    echo "  export PATH=\"$bin:\$PATH\""
    echo "try: $bin/knack list"
    ;;
  esac
}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

# The status 3 means that knack is not built for this system.
none() {
  echo "install.sh: $*" >&2
  exit 3
}

download() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL -o "$2" -- "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" -- "$1"
  else
    fail "neither curl nor wget is here: download $1 and give its path to this script"
  fi
}

digest() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  elif command -v openssl >/dev/null 2>&1; then
    openssl dgst -sha256 -r <"$1" | cut -d ' ' -f 1
  else
    fail "none of sha256sum, shasum and openssl is here, so the archive cannot be verified"
  fi
}

main "$@"
