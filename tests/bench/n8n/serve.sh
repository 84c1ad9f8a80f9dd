#!/usr/bin/env bash
# Serves n8n with the workflow of `just bench workflow`, and installs it when it is not there yet (about 2 GB, some minutes).
#
#   tests/bench/n8n/serve.sh PORT FOLDER     FOLDER keeps its database
#
# Executions are saved, as they are unless one says otherwise and as ours are. It answers at http://127.0.0.1:PORT/webhook/bench
# and ends with the process that started it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=$1 folder=$2
tools=${XDG_CACHE_HOME:-$HOME/.cache}/wellspring/n8n-$(sha256sum "$here/package.json" | cut -c 1-12)
mkdir -p "$(dirname "$tools")"
(
  flock 9
  if [ ! -d "$tools" ]; then
    fresh=$(mktemp -d "$tools.XXXXXX")
    cp "$here/package.json" "$fresh/"
    # With pnpm, because npm does not come to an end with its peers. No script of a package runs but the one that compiles the database.
    (cd "$fresh" && npx --yes pnpm@9.15.9 install --ignore-scripts --config.node-linker=hoisted --reporter=append-only >&2 &&
      npm rebuild sqlite3 --build-from-source >&2)
    mv "$fresh" "$tools"
  fi
) 9> "$tools.lock"
[ "$port" != install ] || exit 0
export N8N_PORT=$port N8N_LISTEN_ADDRESS=127.0.0.1 N8N_USER_FOLDER=$folder DB_TYPE=sqlite
export N8N_DIAGNOSTICS_ENABLED=false N8N_VERSION_NOTIFICATIONS_ENABLED=false N8N_TEMPLATES_ENABLED=false N8N_PERSONALIZATION_ENABLED=false
export N8N_RUNNERS_BROKER_PORT=$((port + 1)) N8N_LOG_LEVEL=warn N8N_PROXY_HOPS=0
n8n=$tools/node_modules/n8n/bin/n8n
node "$n8n" import:workflow --input="$here/workflow.json" >&2
node "$n8n" publish:workflow --id=benchbenchbench1 >&2 || node "$n8n" update:workflow --id=benchbenchbench1 --active=true >&2
exec node "$n8n" start
