#!/usr/bin/env bash
# Fuzzes the API of the real server with schemathesis: every check, on every operation the served document lists.
#
#   tests/fuzz-api/run.sh            thorough, with a new seed each time
#   tests/fuzz-api/run.sh --short    bounded and with a fixed seed; under two minutes
#
# Other arguments go to schemathesis (`--seed 7`, `--max-examples 500`). Fails on a 5xx, on an answer that is not
# documented, on a panic, and when the server is not ready afterwards. Nothing leaves this machine: whatever a made-up
# component asks for is sent to a closed port. Left out are streams, which do not end, and endpoints of sources, which answer
# what a component replies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
say() { printf '== %s\n' "$*" >&2; }

bounds=(--max-examples 100)
if [ "${1:-}" = --short ]; then
  shift
  bounds=(--max-examples 8 --seed 1 --phases examples,coverage,fuzzing --max-failures 20)
fi

requirements=tests/fuzz-api/requirements.txt
tools=${XDG_CACHE_HOME:-$HOME/.cache}/wellspring/fuzz-api-$(sha256sum "$requirements" | cut -c 1-12)
if [ ! -x "$tools/bin/schemathesis" ]; then
  say "installing schemathesis"
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
fi

[ -n "${WELLSPRING_BIN:-}" ] || cargo build --quiet -p wellspring
binary=${WELLSPRING_BIN:-${CARGO_TARGET_DIR:-target}/debug/wellspring}
folder=$(mktemp -d)
log=$folder/log
# The engine that an earlier run compiled.
mkdir -p "$folder/data" "$tools/engine"
ln -s "$tools/engine" "$folder/data/cache"
key=fuzzing-key-of-this-run-only
cleanup() {
  [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

WELLSPRING_API_KEY=$key "$binary" serve --listen 127.0.0.1:0 --data "$folder/data" \
  --dangerous-host-override '*=127.0.0.1:1' 2>"$log" &
server=$!
url=
for _ in $(seq 1800); do
  url=$(sed -n 's/^Wellspring is at //p' "$log")
  [ -z "$url" ] || break
  kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 1; }
  sleep 0.1
done
[ -n "$url" ] || { say "the server did not start"; cat "$log" >&2; exit 1; }

status=0
"$tools/bin/schemathesis" --config-file tests/fuzz-api/schemathesis.toml run "$url/v1/openapi.json" \
  --exclude-path-regex '/sse$|^/e/' --checks all --no-color --header "Authorization: Bearer $key" "${bounds[@]}" "$@" || status=$?

if ! curl --silent --fail --max-time 5 "$url/readyz" >/dev/null; then
  say "the server is not ready afterwards"
  status=1
fi
if grep -E 'panicked at|a request failed' "$log" >&2; then
  say "the server's log tells of failures"
  status=1
fi
exit "$status"
