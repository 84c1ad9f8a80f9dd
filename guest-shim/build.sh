#!/usr/bin/env bash
# Builds guest-shim/shim.wasm, reproducibly. Called by `just shim`.
#
#   build.sh            build and replace shim.wasm and its record of sources
#   build.sh --check    build elsewhere and compare with the committed file, byte for byte. With other compilers than the ones
#                       shim.compilers names the bytes would differ: then only the record of sources is compared
#
# Two ways to a toolchain:
#   rustup   rustup's wasm32-wasip1 target and a WASI SDK (WASI_SDK=/path)
#   debian   Debian's packages; installed when missing, where apt-get can. The committed file is made this way.
# SHIM_TOOLCHAIN=rustup|debian chooses; the default is debian where apt-get is, because that gives the committed bytes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
target_dir=${SHIM_TARGET_DIR:-$here/target}
packages=(rustc-web cargo-web rust-web-src clang-19 lld-19 llvm-19 libclang-19-dev wasi-libc libclang-rt-19-dev-wasm32 patch)
say() { printf 'shim: %s\n' "$*" >&2; }

# A compiler that applies patches/ to QuickJS first. rquickjs-sys copies the sources into its output folder and compiles
# them there, so that neither the crate nor its checksum in Cargo.lock changes.
patching_clang() {
  rm -f "$2"
  cat > "$2" <<SCRIPT
#!/usr/bin/env bash
set -euo pipefail
for argument; do
  if [[ \$argument == */quickjs.c ]]; then cat "$here"/patches/*.patch | patch --quiet --forward "\$argument" >&2; fi
done
exec "$1" "\$@"
SCRIPT
  chmod +x "$2"
}

compilers_debian() { /usr/bin/rustc --version | cut -d' ' -f1-2; /usr/bin/clang-19 --version | head -1; }
compilers_rustup() { rustc --version | cut -d' ' -f1-2; "$WASI_SDK/bin/clang" --version | head -1; }

# Debian's security archive moves the compiler along, so an installed one may be behind as well as missing.
build_debian() {
  if ! dpkg -s "${packages[@]}" >/dev/null 2>&1 || ! compilers_debian | cmp -s - shim.compilers; then
    say "installing Debian's WebAssembly toolchain"
    local root=(); [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq -o Acquire::Retries=5
    "${root[@]}" apt-get install -y -qq --no-install-recommends -o Acquire::Retries=5 "${packages[@]}"
  fi
  # rquickjs-sys expects the layout of a WASI SDK; this one is made of links.
  local sdk=$target_dir/wasi-sdk
  mkdir -p "$sdk/bin" "$sdk/share/wasi-sysroot/lib"
  patching_clang /usr/bin/clang-19 "$sdk/bin/clang"
  ln -sfn /usr/bin/llvm-ar-19 "$sdk/bin/ar"
  ln -sfn /usr/include/wasm32-wasi "$sdk/share/wasi-sysroot/include"
  ln -sfn /usr/lib/wasm32-wasi "$sdk/share/wasi-sysroot/lib/wasm32-wasi"
  export WASI_SDK=$sdk LIBCLANG_PATH=/usr/lib/llvm-19/lib RUSTC=/usr/bin/rustc
  # Debian has no compiled standard library for the target; its sources build with the program.
  export RUSTC_BOOTSTRAP=1
  export CARGO_TARGET_WASM32_WASIP1_LINKER=/usr/bin/wasm-ld-19
  flags="-C link-self-contained=no -L /usr/lib/wasm32-wasi -C link-arg=/usr/lib/wasm32-wasi/crt1-reactor.o"
  flags+=" -C link-arg=/usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a"
  cargo=(/usr/bin/cargo build -Zbuild-std=std,panic_abort)
}

build_rustup() {
  : "${WASI_SDK:?set WASI_SDK to the folder of a WASI SDK}"
  rustup target add wasm32-wasip1
  local sdk=$target_dir/wasi-sdk-patching
  mkdir -p "$sdk/bin"
  patching_clang "$WASI_SDK/bin/clang" "$sdk/bin/clang"
  ln -sfn "$WASI_SDK/bin/ar" "$sdk/bin/ar"
  ln -sfn "$WASI_SDK/share" "$sdk/share"
  export WASI_SDK=$sdk
  flags="" ; cargo=(cargo build)
}

# npm packages of the prelude, one bundle each; src/prelude.rs includes them from WELLSPRING_PRELUDE_NPM. Installed in the
# target folder, so that sources-hash.sh sees the lock file and never what it names.
bundle_npm() {
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    say "installing Debian's nodejs and npm"
    local root=(); [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq -o Acquire::Retries=5 && "${root[@]}" apt-get install -y -qq --no-install-recommends nodejs npm
  fi
  local installed=$target_dir/npm
  mkdir -p "$installed"
  if ! cmp -s prelude/npm/package-lock.json "$installed/installed-lock.json"; then
    say "installing the npm packages of the prelude"
    cp prelude/npm/package.json prelude/npm/package-lock.json "$installed/"
    (cd "$installed" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    cp prelude/npm/package-lock.json "$installed/installed-lock.json"
  fi
  node prelude/npm/bundle.mjs "$installed" "$installed/bundles"
  export WELLSPRING_PRELUDE_NPM=$installed/bundles
}

toolchain=${SHIM_TOOLCHAIN:-$(command -v apt-get >/dev/null && echo debian || echo rustup)}
"build_$toolchain"
if [ "${1:-}" = --check ] && ! "compilers_$toolchain" | cmp -s - shim.compilers; then
  say "not compiled: shim.wasm was made by $(paste -sd, shim.compilers), and here are $("compilers_$toolchain" | paste -sd,)"
  ./sources-hash.sh | cmp - shim.sources
  say "shim.wasm is of these sources, by their hash"
  exit
fi
bundle_npm

registry=${CARGO_HOME:-$HOME/.cargo}
# No path of this machine in the result: two builds in different folders give the same bytes.
export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$flags --remap-path-prefix=$here=/shim --remap-path-prefix=$target_dir=/target --remap-path-prefix=$registry=/cargo"
export CFLAGS_wasm32_wasip1="-ffile-prefix-map=$here=/shim -ffile-prefix-map=$target_dir=/target -ffile-prefix-map=$registry=/cargo"
# Means nothing to the compiler; cargo copies and compiles QuickJS anew when it changes.
CFLAGS_wasm32_wasip1+=" -DPATCHES=0x$(cat patches/*.patch | sha256sum | cut -c1-8)"
say "building with $toolchain"
CARGO_TARGET_DIR=$target_dir "${cargo[@]}" --locked --release --target wasm32-wasip1
built=$target_dir/wasm32-wasip1/release/guest_shim.wasm

if [ "${1:-}" = --check ]; then
  cmp "$built" shim.wasm && say "shim.wasm is what its sources give, byte for byte"
else
  cp "$built" shim.wasm
  cp "$WELLSPRING_PRELUDE_NPM/LICENCES.md" prelude/npm/LICENCES.md
  ./sources-hash.sh > shim.sources
  "compilers_$toolchain" > shim.compilers
  say "wrote shim.wasm ($(stat -c %s shim.wasm) bytes); \`just engine\` compiles it"
fi
