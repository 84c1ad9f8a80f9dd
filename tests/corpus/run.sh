#!/usr/bin/env bash
# Loads every component of the npm package pipedream@0.2.2 and prints how many load and describe.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p target/corpus
node tests/corpus/list.mjs > target/corpus/plan.json
cargo run --quiet -p tools --bin corpus < target/corpus/plan.json
