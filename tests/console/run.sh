#!/usr/bin/env bash
# Drives the console of a real server with a real browser: every page, both themes, keyboard and narrow screens.
#
# Needs node, npm and Chromium (Debian: chromium). WELLSPRING_BIN is the server; arguments are names of tests.
# With SCREENSHOTS=1 it also writes docs/images.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ -d node_modules/axe-core ] && [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent
export WELLSPRING_BIN=${WELLSPRING_BIN:-$(cd ../.. && pwd)/target/debug/wellspring}
exec timeout 900 node main.mjs "$@"
