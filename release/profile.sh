#!/usr/bin/env bash
# Prints the file of a profile for the compiler: what of the program the benchmarks execute, and how often. It is made here, of a build that
# counts, and used for every target. Says on standard error what it does; prints nothing where the toolchain cannot read profiles.
set -euo pipefail
# The server that counts is the one beside the benchmark.
unset WELLSPRING_BIN
cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { printf 'profile: %s\n' "$*" >&2; }
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}/profile")
host=$(rustc -vV | sed -n 's/^host: //p')
merger=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
[ -x "$merger" ] || rustup component add llvm-tools >&2 || true
[ -x "$merger" ] || { say "there is no llvm-profdata for this compiler: the release is built without a profile" && exit 0; }

say "building the program that counts"
# With `--target`, so that build scripts and macros do not count.
RUSTFLAGS="-Cprofile-generate=$folder/counts" CARGO_TARGET_DIR=$folder \
  cargo build --locked --quiet --release -p wellspring -p wellspring-bench --target "$host" >&2
rm -rf "$folder/counts"
bench=$folder/$host/release/wellspring-bench
for load in 'flow --alone --db --rounds 4 --minutes 0' 'flow --records --rounds 2 --minutes 0' 'workflow --rounds 3 --paused 500'; do
  say "counting: $load"
  # shellcheck disable=SC2086 # its words are arguments
  "$bench" $load > "$folder/counted.log" 2>&1 || { cat "$folder/counted.log" >&2 && exit 1; }
done
"$merger" merge -o "$folder/wellspring.profdata" "$folder/counts"
rm -rf "$folder/counts"
echo "$folder/wellspring.profdata"
