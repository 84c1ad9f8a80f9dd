#!/usr/bin/env bash
# The type definitions that `wellspring init` writes, under every TypeScript from 5.4 to the newest, with the settings that it
# writes and with those of stricter projects. Everything it writes, and the cases beside this script, must check without an
# error; what must not check says so itself (`@ts-expect-error`). The same for the npm package of `release/npm`. Needs npm and its
# registry.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$here/../.."
[ -n "${WELLSPRING_CLIENT:-}" ] || cargo build --quiet -p remote
client=${WELLSPRING_CLIENT:-${CARGO_TARGET_DIR:-$PWD/target}/debug/wellspring-client}
cp "$here"/cases/* "$folder"
cp -r "$here/packaged" "$folder"
archive=$(release/npm/pack.sh "$folder/archives")
cd "$folder"
"$client" init source Plain 2>/dev/null
"$client" init source All --http --timer --db 2>/dev/null
"$client" init source Ticks --timer --db 2>/dev/null
"$client" init action Shout 2>/dev/null
"$client" init app thing 2>/dev/null
mkdir typed && cp "$here"/cases/*.ts typed
"$client" init source Typed --ts --folder typed 2>/dev/null
"$client" init source Polled --ts --timer --db --folder typed 2>/dev/null
"$client" init action Loud --ts --folder typed 2>/dev/null
"$client" init app other --ts --folder typed 2>/dev/null

# Names of settings, and what they change.
settings=(
  "as written:"
  "stricter:--noUncheckedIndexedAccess --exactOptionalPropertyTypes --noImplicitReturns"
  "nodenext:--module nodenext --moduleResolution nodenext"
  "bundler:--module esnext --moduleResolution bundler --verbatimModuleSyntax"
)
check() { node_modules/.bin/tsc --skipLibCheck false "$@"; }
for version in latest 5.9 5.8 5.7 5.6 5.5 5.4; do
  npm install --silent --no-save "typescript@$version" "$archive" 2>/dev/null
  printf 'TypeScript %s: JavaScript' "$(node_modules/.bin/tsc --version | cut -d' ' -f2)"
  check -p jsconfig.json
  for setting in "${settings[@]}"; do
    printf ', %s' "${setting%%:*}"
    # shellcheck disable=SC2086 # several arguments
    check -p typed/tsconfig.json ${setting#*:}
    # shellcheck disable=SC2086
    check -p packaged/tsconfig.json ${setting#*:}
  done
  echo ': ok'
done
# An older one, which has the language service that editors ask.
cp "$here/complete.cjs" .
node complete.cjs
echo 'completions: ok'
