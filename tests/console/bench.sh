#!/usr/bin/env bash
# `just bench console`: the console against its promises, on the release build. An argument is the number of sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ -d node_modules/axe-core ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
export WELLSPRING_BIN=${WELLSPRING_BIN:-$(cd ../.. && pwd)/target/release/wellspring}
exec node bench.mjs "$@"
