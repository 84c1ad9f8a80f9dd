# What developers do, by name. `just` lists it.

[private]
default:
    @just --list --unsorted

# Set up and pass every test: the README's second command
test *arguments:
    ./tests/run.sh {{arguments}}

# Measure: `just bench sandbox`
bench what *arguments:
    cargo run --release --quiet -p wellspring -- bench {{what}} {{arguments}}

# Rebuild guest-shim/shim.wasm from its sources (installs Debian's WebAssembly toolchain where it can)
shim *arguments:
    ./guest-shim/build.sh {{arguments}}

# Write THIRD-PARTY.md and the schemas anew
generate:
    UPDATE=1 cargo test -q -p it generated
    UPDATE_SCHEMAS=1 cargo test -q -p domain the_schema

# Load every component of the npm package pipedream@0.2.2 and report
corpus *arguments:
    ./tests/corpus/run.sh {{arguments}}

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
