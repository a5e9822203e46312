#!/usr/bin/env bash
# Stands in for the programs of a machine that a test may not have or change: systemctl,
# journalctl, apt-get, groupadd, chgrp and chown. It is called by these names. $ROOT has the
# machine's files; $PROMETHEUS_PORT stands for 9090.
set -euo pipefail

# here prints a text with the machine's paths replaced.
here() { sed -E "s#(^|[^A-Za-z0-9._/-])/(usr/local/bin|etc/knack|etc/prometheus|etc/systemd|srv|var/log/knack)#\1$ROOT/\2#g"; }

unit="$ROOT/etc/systemd/system/knack.service"
setting() { sed -n "s/^$1=//p" "$unit" | here; }

# start runs what a unit runs.
start() {
  mkdir -p "$ROOT/run"
  case "$1" in
  knack)
    [[ -e $unit ]]
    mkdir -p "$ROOT/var/log/$(setting LogsDirectory)"
    setting ExecStartPre | while read -r line; do $line >>"$ROOT/run/knack.journal" 2>&1; done
    # shellcheck disable=SC2046 # words
    env -i PATH="$PATH" HOME=/nonexistent $(setting ExecStart) >>"$ROOT/run/knack.journal" 2>&1 </dev/null &
    ;;
  prometheus)
    prometheus --config.file="$ROOT/etc/prometheus/prometheus.yml" --storage.tsdb.path="$ROOT/run/data" \
      --web.listen-address="127.0.0.1:$PROMETHEUS_PORT" >>"$ROOT/run/prometheus.journal" 2>&1 </dev/null &
    ;;
  esac
  echo $! >"$ROOT/run/$1.pid"
}

stop() {
  kill "$(cat "$ROOT/run/$1.pid")"
  while kill -0 "$(cat "$ROOT/run/$1.pid")" 2>/dev/null; do sleep 0.05; done
  rm "$ROOT/run/$1.pid"
}

case "$(basename "$0") $*" in
"systemctl daemon-reload" | "apt-get update") ;;
"systemctl enable --now knack") start knack ;;
"systemctl restart knack") stop knack && start knack ;;
"systemctl reload knack")
  MAINPID="$(cat "$ROOT/run/knack.pid")"
  setting ExecReload | while read -r line; do ${line/\$MAINPID/$MAINPID}; done >>"$ROOT/run/knack.journal" 2>&1
  ;;
"systemctl reload prometheus")
  # It reads SIGHUP from the time on at which it is ready.
  curl -fsS --retry 20 --retry-connrefused --retry-delay 1 "http://127.0.0.1:$PROMETHEUS_PORT/-/ready" >/dev/null
  kill -HUP "$(cat "$ROOT/run/prometheus.pid")"
  ;;
"journalctl -u knack "*) tail -n 5 "$ROOT/run/knack.journal" ;;
"apt-get install -y prometheus")
  mkdir -p "$ROOT/etc/prometheus"
  # Debian's own settings, which fetch more often, for tests that do not wait.
  sed -E "s/(scrape_interval|scrape_timeout): *[0-9]+s/\1: 1s/; s/(evaluation_interval): *[0-9]+s/\1: 1s/; s/localhost:9090/127.0.0.1:$PROMETHEUS_PORT/" /etc/prometheus/prometheus.yml >"$ROOT/etc/prometheus/prometheus.yml"
  start prometheus
  ;;
"groupadd "* | "chgrp "* | "chown "*) ;;
*)
  echo "$0 $*: the test knows no such command" >&2
  exit 1
  ;;
esac
