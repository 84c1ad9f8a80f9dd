#!/usr/bin/env bash
# Prints one hash over everything shim.wasm is made of. The tests compute the same and compare it with shim.sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
find guest-shim/Cargo.toml guest-shim/Cargo.lock guest-shim/build.rs guest-shim/build.sh guest-shim/patches guest-shim/src guest-shim/prelude wit -type f |
  LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1
