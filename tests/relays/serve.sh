#!/usr/bin/env bash
# Starts the servers that tests send e-mail and objects to, and installs them when they are not there yet.
#
#   tests/relays/serve.sh FOLDER     FOLDER keeps the objects
#
# Prints one line of JSON with both ports, then one for each mail that arrives. Ends with its standard input.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=${XDG_CACHE_HOME:-$HOME/.cache}/wellspring/relays-$(sha256sum "$here/package-lock.json" | cut -c 1-12)
mkdir -p "$(dirname "$tools")"
(
  flock 9
  if [ ! -d "$tools" ]; then
    fresh=$(mktemp -d "$tools.XXXXXX")
    cp "$here/package.json" "$here/package-lock.json" "$fresh/"
    (cd "$fresh" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    mv "$fresh" "$tools"
  fi
) 9> "$tools.lock"
NODE_PATH=$tools/node_modules exec node "$here/serve.cjs" "$1"
