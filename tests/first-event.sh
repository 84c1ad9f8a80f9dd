#!/usr/bin/env bash
# From `git clone` to the first event, as the README says it: how long each step took, and how long all of it.
# Everything is made in a folder of its own, which is removed in the end; only cargo's downloads are used again.
# CARGO_TARGET_DIR keeps what was compiled from one time to the next. WELLSPRING_BINARY=<file> spares the build, and
# WELLSPRING_ARCHIVE=<file of `just release`> is installed instead, as its users do: that may take five seconds in all.
# WELLSPRING_PEER=yes compiles an empty crate with the runtime of wasmtime as well, and says how many times as long the build took:
# machines differ, and change their pace from one hour to the next.
set -euo pipefail
binary=${WELLSPRING_BINARY:+$(realpath -e "$WELLSPRING_BINARY")}
archive=${WELLSPRING_ARCHIVE:+$(realpath -e "$WELLSPRING_ARCHIVE")}
peer=${WELLSPRING_PEER:-}
# What this shell is set up for is not what a newcomer has.
unset "${!WELLSPRING_@}" XDG_CACHE_HOME XDG_CONFIG_HOME
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
server=
step='make a folder'
tidy() {
  local status=$?
  [ "$status" = 0 ] || { echo "error: failed to $step" && cat "$folder"/*.said; } >&2 2>/dev/null || true
  # Only what was started here is ended.
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  rm -rf "$folder"
}
trap tidy EXIT
trap 'exit 130' INT TERM

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
seconds() { awk -v us="$1" 'BEGIN { printf "%.2f", us / 1e6 }'; }
# The step that ends here, and the one that begins.
next() {
  local now
  now=$(now_us)
  printf '%9s s  %s\n' "$(seconds "$((now - since))")" "$step"
  since=$now step=${1:-}
}
begin=$(now_us) since=$(now_us)
# How long the empty crate takes, with its dependencies.
compile_peer() {
  local wasmtime
  wasmtime=$(grep '^wasmtime = ' Cargo.toml)
  mkdir -p "$folder/peer/src"
  cp Cargo.lock "$folder/peer/"
  printf '[package]\nname = "peer"\nedition = "2024"\n[dependencies]\n%s\n' "$wasmtime" > "$folder/peer/Cargo.toml"
  echo 'fn main() { let _ = wasmtime::Engine::default(); }' > "$folder/peer/src/main.rs"
  (cd "$folder/peer" && CARGO_TARGET_DIR=$folder/peer/target cargo build --release --quiet --offline)
}

if [ -n "$archive" ]; then
  step="install $(basename "$archive")"
  mkdir "$folder/clone" && cd "$folder/clone"
  WELLSPRING_ARCHIVE=$archive PREFIX=$folder/installed sh "$(dirname "$archive")/install.sh" >> "$folder/install.said"
  binary=$folder/installed/bin/wellspring
else
  step="clone $(git -C "$repository" rev-parse --short HEAD)"
  git clone --quiet "$repository" "$folder/clone"
  cd "$folder/clone"
  next 'build the release binary'
  if [ -n "$binary" ]; then
    step="take $binary"
  else
    cargo build --release --quiet
    binary=$(realpath -e "${CARGO_TARGET_DIR:-target}/release/wellspring")
  fi
fi
mkdir "$folder/bin"
ln -s "$binary" "$folder/bin/wellspring"
built_us=$(($(now_us) - since)) peer_us=0
if [ -n "$peer" ]; then
  next 'compile an empty crate with the runtime of wasmtime'
  compile_peer
  peer_us=$(($(now_us) - since))
fi
next 'start the server'

export PATH="$folder/bin:$PATH" HOME="$folder" WELLSPRING_API_KEY=first-event-key-0123456789
mkfifo "$folder/talk"
wellspring serve --listen 127.0.0.1:0 2> "$folder/talk" &
server=$!
exec 3< "$folder/talk"
url=
while [ -z "$url" ] && read -r line <&3; do
  echo "$line" >> "$folder/server.said"
  case $line in 'Wellspring is at '*) url=${line##* } ;; esac
done
[ -n "$url" ]
# The server blocks when its output pipe is full, so it is drained.
cat <&3 >> "$folder/server.said" &
exec 3<&-
export WELLSPRING_URL=$url
next 'write a component and deploy it'
file=$(wellspring init source Hello 2> "$folder/init.said")
endpoint=$(wellspring deploy "$file" --get endpoint 2> "$folder/deploy.said")
next 'send a request and see its event'
curl -sS --fail -o /dev/null "$endpoint" -H 'content-type: application/json' -d '{"hello": "world"}' 2> "$folder/curl.said"
event=$(wellspring events hello --until 1 2> "$folder/events.said")
grep -q '{"hello":"world"}' <<< "$event"
next
total_us=$(($(now_us) - begin - peer_us))
echo "$event"
echo "from clone to first event: $(seconds "$total_us") s, of which compiling $(seconds "$built_us") s"
[ -z "$peer" ] || awk -v built="$built_us" -v peer="$peer_us" \
  'BEGIN { printf "compiling took %.1f times as long as an empty crate with the runtime of wasmtime\n", built / peer }'
