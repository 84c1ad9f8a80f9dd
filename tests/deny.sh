#!/usr/bin/env bash
# Checks dependencies against .deny.toml: `tests/deny.sh bans licenses sources` as the tests do, `tests/deny.sh` with advisories too, for which
# it reads the database of RustSec from the network. Compiles cargo-deny once, which takes a minute or two, and keeps it in the user's cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=0.20.2
root=${XDG_CACHE_HOME:-$HOME/.cache}/wellspring/cargo-deny-$version
if [ ! -x "$root/bin/cargo-deny" ]; then
  # Without optimisation: it reads some hundred files once.
  cargo install --quiet --locked --debug --root "$root" "cargo-deny@$version"
fi
exec "$root/bin/cargo-deny" --config .deny.toml check --hide-inclusion-graph "$@"
