#!/usr/bin/env bash
# How large the release binary is, and how long a start takes: from the command to the line that says where it listens.
# Prints a table and one JSON line; fails above 50 MB, or above 300 ms, on a new data folder as on one that was used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "${1:-}" = --built ] || cargo build --release --quiet -p wellspring
binary=${CARGO_TARGET_DIR:-target}/release/wellspring
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Milliseconds of one start on this data folder.
start_ms() {
  local begun server line
  rm -f "$folder/talk" && mkfifo "$folder/talk"
  begun=$(date +%s%N)
  "$binary" serve --listen 127.0.0.1:0 --data "$1" 2>"$folder/talk" &
  server=$!
  exec 3<"$folder/talk"
  while read -r line <&3; do
    case $line in "Wellspring is at "*) break ;; error:*) echo "$line" >&2; exit 1 ;; esac
  done
  echo $((($(date +%s%N) - begun) / 1000000))
  kill "$server"
  cat <&3 >/dev/null
  exec 3<&-
  wait "$server" || true
}

bytes=$(stat -c %s "$binary")
first=$(for n in 1 2 3 4 5 6 7; do start_ms "$folder/data-$n"; done | sort -n | sed -n 4p)
later=$(for n in 1 2 3 4 5 6 7; do start_ms "$folder/data-$n"; done | sort -n | sed -n 4p)
printf '%-34s %8s %8s\n' '' measured allowed
printf '%-34s %8s %8s\n' 'release binary, MB' "$((bytes / 1000000))" 50
printf '%-34s %8s %8s\n' 'first start, median of 7, ms' "$first" 300
printf '%-34s %8s %8s\n' 'later start, median of 7, ms' "$later" 300
echo "{\"binary_bytes\": $bytes, \"first_start_ms\": $first, \"later_start_ms\": $later}"
[ "$bytes" -le 50000000 ] && [ "$first" -le 300 ] && [ "$later" -le 300 ]
