# What developers do, by name. `just` lists it.

[private]
default:
    @just --list --unsorted

# Set up and pass every test: the README's second command
test *arguments:
    ./tests/run.sh {{arguments}}

# Measure: `just bench sandbox`, `flow`, `workflow`, `store`, `scale`, `sources`, `components` or `console`
bench what *arguments:
    cargo build --release --quiet -p wellspring -p wellspring-bench
    {{ if what == "console" { "./tests/console/bench.sh" } else if what == "postgres" { "./tests/bench/postgres.sh" } else { "${CARGO_TARGET_DIR:-$PWD/target}/release/wellspring-bench " + what } }} {{arguments}}

# Rebuild guest-shim/shim.wasm from its sources (installs Debian's WebAssembly toolchain where it can), and compile it
shim *arguments: && (engine arguments)
    ./guest-shim/build.sh {{arguments}}

# Compile guest-shim/shim.wasm to the machine code that the server carries; `--check` compares with the committed code
engine *arguments:
    cargo run --locked --quiet -p engine --features compiler --bin make-engine -- {{arguments}}

# Build the console's files from their sources: `just console --check` compares them with what is committed
console *arguments:
    ./host/console/build.sh {{arguments}}

# Drive the console with a browser: `just browse keyboard` runs the tests whose name holds the word
browse *arguments:
    ./tests/console/run.sh {{arguments}}

# Write the schemas, the references, THIRD-PARTY.md and the snapshots of the command line anew
generate:
    UPDATE=1 cargo test -q -p domain the_schema
    UPDATE=1 cargo test -q -p server the_committed_document
    UPDATE=1 cargo test -q -p it generated
    UPDATE=1 cargo test -q -p remote

# From `git clone` to the first event, with the time it takes
first-event:
    ./tests/first-event.sh

# Check the type definitions of `wellspring init` with the TypeScript of old and new editors
types:
    ./tests/types/run.sh

# Load every component of the npm package pipedream@0.2.2 and report
corpus *arguments:
    ./tests/corpus/run.sh {{arguments}}

# Run public components of ten apps with accounts that the connect flow brought, against services of this machine
accounts:
    cargo build --quiet --workspace --bins
    WELLSPRING_BIN=${CARGO_TARGET_DIR:-$PWD/target}/debug/wellspring node tests/corpus/accounts.mjs

# Install, load and use some hundred npm packages in the sandbox: `just packages axios` those that hold the word
packages *arguments:
    cargo run --release --quiet -p tools --bin packages -- {{arguments}}

# Fuzz the API of the real server with schemathesis: `just fuzz-api --short` as CI does
fuzz-api *arguments:
    ./tests/fuzz-api/run.sh {{arguments}}

# The size of the release binary and the time of a start, against what is allowed
size *arguments:
    ./tests/size.sh {{arguments}}

# Make a release in dist/: archive, .deb, OCI image, SBOM, checksums; `WELLSPRING_SIGNING_KEY` signs them
release *arguments:
    ./release/build.sh {{arguments}}

# The releases that are handed out, static, for both kinds of machines: dist/x86_64 and dist/aarch64
releases:
    for machine in x86_64 aarch64; do WELLSPRING_TARGET=$machine-unknown-linux-musl ./release/build.sh dist/$machine; done

# Attack the server as a hostile tenant would, and tell what another tenant noticed (`--only`, `--seconds`)
attack *arguments:
    cargo build --release --quiet -p wellspring
    WELLSPRING_BIN=${CARGO_TARGET_DIR:-$PWD/target}/release/wellspring cargo run --quiet -p tools --bin attack -- {{arguments}}

# Kill the server 200 times on each store while everything is at work, and look for what was lost (`--kills`, `--store`);
# `--hosts 3` does worse to three hosts on one Redis (`--faults`, `--redis`, `--namespaces`, `--older PROGRAM`)
storm *arguments:
    cargo build --quiet -p wellspring
    WELLSPRING_BIN=${CARGO_TARGET_DIR:-$PWD/target}/debug/wellspring cargo run --quiet -p tools --bin storm -- {{arguments}}

# Format and lint Rust, the shim and the prelude
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy --locked --manifest-path guest-shim/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-$PWD/target}/shim-lint" -- -D warnings
    ./tests/lint/run.sh
