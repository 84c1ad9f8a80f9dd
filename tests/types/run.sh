#!/usr/bin/env bash
# The type definitions that `wellspring init` writes, under the oldest and the newest TypeScript that editors bring.
# Everything it writes, and the cases beside this script, must check without an error. Needs npm and its registry.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$here/../.."
cargo build --quiet -p remote
client=${CARGO_TARGET_DIR:-$PWD/target}/debug/wellspring-client
cp "$here"/cases/*.js "$folder"
cd "$folder"
"$client" init source Plain 2>/dev/null
"$client" init source All --http --timer --db 2>/dev/null
"$client" init source Ticks --timer --db 2>/dev/null
"$client" init action Shout 2>/dev/null
"$client" init app thing 2>/dev/null
for version in latest 5.6; do
  npm install --silent --no-save "typescript@$version" 2>/dev/null
  printf 'TypeScript %s: ' "$(npx tsc --version 2>/dev/null | cut -d' ' -f2)"
  npx tsc -p jsconfig.json 2>/dev/null
  echo ok
done
# The older one has the language service that editors ask.
cp "$here/complete.cjs" .
node complete.cjs
echo 'completions: ok'
