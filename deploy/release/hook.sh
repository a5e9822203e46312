#!/bin/sh
# Runs knack for the hooks of .pre-commit-hooks.yaml. It downloads the release that is checked out
# here, or else builds knack.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
bin=$root/dist/hook

# install puts knack into $bin. In a hook, git's environment variables point to the user's
# repository.
install() {
  # shellcheck disable=SC2046 # one word for each variable
  unset $(git rev-parse --local-env-vars)
  cd "$root"
  # pre-commit fetches a tag without storing it.
  version=$(git describe --tags --exact-match 2>/dev/null || sed -n "s/.*tag '\(v[^']*\)' of .*/\1/p" .git/FETCH_HEAD 2>/dev/null || true)
  status=0
  sh "$here/download.sh" "$version" "$bin" >&2 || status=$?
  [ "$status" -eq 3 ] || return "$status"
  command -v go >/dev/null 2>&1 || {
    echo "knack: no release fits, and Go is missing, with which this hook builds knack: install one of the two" >&2
    return 1
  }
  go build -trimpath -ldflags='-s -w' -o "$bin/" ./cmd/knack
}

[ -x "$bin/knack" ] || (install)
exec "$bin/knack" "$@"
