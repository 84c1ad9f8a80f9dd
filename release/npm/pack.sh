#!/usr/bin/env bash
# Packs the type definitions that `wellspring init` writes as an npm package, with the version of the workspace.
#
#   release/npm/pack.sh FOLDER     prints the path of the archive in FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
sed "s/\"version\": \"0.0.0\"/\"version\": \"$version\"/" "$here/package.json" > "$work/package.json"
cp "$here/README.md" "$root/LICENSE" "$root"/host/remote/src/commands/init/*.d.ts "$work/"
cd "$work"
echo "$out/$(npm pack --silent --pack-destination "$out" 2> /dev/null | tail -n 1)"
