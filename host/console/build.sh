#!/usr/bin/env bash
# Builds dist/ from the sources; with --check, tells whether the committed dist/ is what the sources give, byte for byte.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ -x node_modules/.bin/esbuild ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
node_modules/.bin/tsc --noEmit
if grep -rn 'dangerouslySetInnerHTML\|innerHTML\|insertAdjacentHTML\|document\.write\|eval(' src; then
  echo "text of tenants must not become markup: use text nodes" >&2
  exit 1
fi
if [ "${1:-}" = --check ]; then
  built=$(mktemp -d)
  trap 'rm -rf "$built"' EXIT
  node build.mjs "$built/dist"
  diff -r dist "$built/dist" || { echo "run host/console/build.sh and commit dist/" >&2; exit 1; }
else
  node build.mjs
fi
