#!/usr/bin/env bash
# Sets up what the tests need and runs all of them. Arguments go to `cargo test`.
#
# Needs Rust; on Debian it installs the rest (redis-server, postgresql, node, nginx, haproxy, faketime, chromium, tmux, zsh, fish), and asks first where it can. With
# CI=true it also lints, checks dependencies, rebuilds the committed shim, its machine code and the console to compare them byte for byte, and fuzzes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { printf '\n== %s\n' "$*" >&2; }

missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing+=(postgresql)
# Debian keeps programs of the system where other users do not look.
PATH=$PATH:/usr/sbin
command -v nginx >/dev/null || missing+=(nginx-light)
command -v haproxy >/dev/null || missing+=(haproxy)
[ -e /usr/lib/x86_64-linux-gnu/faketime ] || missing+=(faketime)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v chromium >/dev/null || missing+=(chromium)
command -v cc >/dev/null || missing+=(gcc libc6-dev)
[ "${CI:-}" != true ] || python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
command -v curl >/dev/null || missing+=(curl)
command -v script >/dev/null || missing+=(bsdutils)
command -v tmux >/dev/null || missing+=(tmux)
command -v zsh >/dev/null || missing+=(zsh)
command -v fish >/dev/null || missing+=(fish)
if [ ${#missing[@]} -gt 0 ]; then
  root=(); [ "$(id -u)" = 0 ] || root=(sudo)
  if ! command -v apt-get >/dev/null || { [ ${#root[@]} -gt 0 ] && ! command -v sudo >/dev/null; }; then
    say "please install what these Debian packages hold, and run this again: ${missing[*]}"
    exit 1
  fi
  if [ "${CI:-}" != true ] && [ -t 0 ]; then
    read -r -p "Install ${missing[*]} with ${root[*]} apt-get? [y/N] " answer
    [[ $answer == [yY]* ]] || { say "not installed; nothing was run"; exit 1; }
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -qq -o Acquire::Retries=5
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Acquire::Retries=5 "${missing[@]}"
fi

if [ "${CI:-}" = true ]; then
  say "formatting and lints"
  cargo fmt --all --check
  cargo clippy --workspace --all-targets --quiet -- -D warnings
  # The shim, for this machine: its own target needs a toolchain, and clippy sees the same code without it.
  cargo fmt --manifest-path guest-shim/Cargo.toml --check
  cargo clippy --locked --manifest-path guest-shim/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-$PWD/target}/shim-lint" --quiet -- -D warnings
  ./tests/lint/run.sh
  say "dependencies"
  ./tests/deny.sh bans licenses sources
  say "the committed shim is what its sources give"
  SHIM_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/shim ./guest-shim/build.sh --check
  say "the committed console is what its sources give"
  ./host/console/build.sh --check
  say "the committed machine code is what the shim gives"
  cargo clippy --locked --quiet -p engine --features compiler --all-targets -- -D warnings
  cargo run --locked --quiet -p engine --features compiler --bin make-engine -- --check
fi

# One build of the server for everything below, together with the tests: built without them its dependencies would have fewer
# features, and everything would be compiled twice.
say "the server and the tests"
cargo build --workspace --bins --tests --quiet
export WELLSPRING_BIN=${CARGO_TARGET_DIR:-$PWD/target}/debug/wellspring

say "tests"
cargo test --workspace --no-fail-fast "$@"

if [ $# = 0 ]; then
  say "the console in a browser"
  ./tests/console/run.sh
fi

# What the sandbox does, once more where runs are made in worker processes. Time is real there, so this takes a minute or two.
if [ $# = 0 ] && [ "$(uname)" = Linux ]; then
  say "the sandbox in worker processes"
  WELLSPRING_ISOLATE=process timeout 900 cargo test --workspace --test it --no-fail-fast -- \
    components:: errors:: hostile:: isolation:: limits:: loading:: oracle:: randomness::
fi

if [ "${CI:-}" = true ]; then
  # About a minute in all; the tests above have run each of these with a few cases.
  say "parsers and planners under fuzz"
  WELLSPRING_FUZZ=${WELLSPRING_FUZZ:-20} timeout 600 cargo test --workspace --quiet --lib --test it -- fuzz::
  say "public components with connected accounts"
  timeout 600 node tests/corpus/accounts.mjs
  say "the API under fuzz"
  ./tests/fuzz-api/run.sh --short
fi
