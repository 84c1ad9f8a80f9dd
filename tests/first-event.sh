#!/usr/bin/env bash
# From `git clone` to the first event, as the README says it, with the time each step took.
# CARGO_TARGET_DIR, when it is set, keeps what was compiled from one time to the next.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
server=
# Only what was started here is ended.
tidy() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"; }
trap tidy EXIT
begin=${EPOCHREALTIME/[.,]/}
step() { awk -v us="$((${EPOCHREALTIME/[.,]/} - begin))" -v what="$1" 'BEGIN { printf "%8.2f s  %s\n", us / 1e6, what }'; }

git clone --quiet "$repository" "$folder/clone"
cd "$folder/clone"
step cloned
cargo build --release --quiet
step built
export PATH="${CARGO_TARGET_DIR:-$PWD/target}/release:$PATH" HOME="$folder"
export WELLSPRING_API_KEY=first-event-key-0123456789 WELLSPRING_LISTEN=127.0.0.1:0
wellspring serve 2> "$folder/said" &
server=$!
until grep -q 'Wellspring is at' "$folder/said"; do kill -0 "$server"; sleep 0.05; done
WELLSPRING_URL=$(sed -n 's/^Wellspring is at //p' "$folder/said")
export WELLSPRING_URL
step 'server answers'
endpoint=$(wellspring deploy "$(wellspring init source Hello 2>/dev/null)" --get endpoint 2>/dev/null)
step deployed
curl -s -o /dev/null "$endpoint" -H 'content-type: application/json' -d '{"hello": "world"}'
wellspring events hello --until 1 2>/dev/null
step 'first event'
