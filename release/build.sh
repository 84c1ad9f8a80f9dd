#!/usr/bin/env bash
# Makes everything of a release in dist/ (or the folder that is named): an archive, a .deb, an OCI image, an SBOM, checksums and,
# with WELLSPRING_SIGNING_KEY=<id of a GnuPG key>, their signature. WELLSPRING_BINARY=<file> packs a binary that is there already.
# WELLSPRING_COMPRESSION=1 is for tests: faster and larger. Nothing here needs root or a container engine; the same binary gives the same bytes.
#
# WELLSPRING_TARGET=x86_64-unknown-linux-musl and aarch64-unknown-linux-musl build static binaries, for any Linux, on either machine: Zig, which
# pip installs, compiles and links their C. A release for the other machine needs Debian's qemu-user-static, to ask the program for its manual.
# The program is optimised for what the benchmarks execute (`release/profile.sh`); WELLSPRING_PROFILE=<file> is such a profile from before, and
# WELLSPRING_PROFILE= leaves that out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dist=$(realpath -m "${1:-dist}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
fail() { printf 'error: %s\n' "$*" >&2 && exit 1; }
level=${WELLSPRING_COMPRESSION:-9}

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
# The time of the commit, so that a release can be made again.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
target=${WELLSPRING_TARGET:-$(rustc -vV | sed -n 's/^host: //p')}
case $target in
  x86_64-unknown-linux-*) machine=x86_64 debian=amd64 oci=amd64 ;;
  aarch64-unknown-linux-*) machine=aarch64 debian=arm64 oci=arm64 ;;
  *) fail "no release for $target" ;;
esac
# What runs a program for that machine.
runner=()
if [ "$machine" != "$(uname -m)" ]; then
  [[ $target == *-musl ]] || fail "a release for $target is made on such a machine; $machine-unknown-linux-musl is made on any"
  runner=("qemu-$machine-static")
  command -v "${runner[0]}" > /dev/null || fail "a release for $machine needs ${runner[0]} here: apt-get install qemu-user-static"
fi
binary=${WELLSPRING_BINARY:-}
if [ -z "$binary" ]; then
  profile=${WELLSPRING_PROFILE-$(release/profile.sh)}
  # The machine code of the engine is committed for x86-64 alone.
  [ "$machine" = x86_64 ] || cargo run --locked --quiet -p engine --features cross --bin make-engine -- --for "$machine-linux"
  build=(cargo build)
  if [[ $target == *-musl ]]; then
    tools=$(realpath -m "${CARGO_TARGET_DIR:-target}/release-tools")
    [ -x "$tools/bin/cargo-zigbuild" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet cargo-zigbuild==0.24.0 ziglang==0.17.0; }
    rustup target add "$target" 2> /dev/null
    PATH=$tools/bin:$PATH
    build=(cargo zigbuild)
  fi
  RUSTFLAGS=${profile:+-Cprofile-use=$profile} "${build[@]}" --locked --profile dist -p wellspring --target "$target"
  binary=${CARGO_TARGET_DIR:-target}/$target/dist/wellspring
fi
name=wellspring-$version-$machine-linux
rm -rf "$dist" && mkdir -p "$dist"

pack() { tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=posix --pax-option=delete=atime,delete=ctime "$@"; }

# What an archive and a package share.
tree=$work/tree
install -D -m 755 "$binary" "$tree/bin/wellspring"
strip "$tree/bin/wellspring" 2> /dev/null || true
for shell in bash zsh fish; do "${runner[@]}" "$tree/bin/wellspring" completions "$shell" > "$work/completions.$shell"; done
install -D -m 644 "$work/completions.bash" "$tree/share/bash-completion/completions/wellspring"
install -D -m 644 "$work/completions.zsh" "$tree/share/zsh/site-functions/_wellspring"
install -D -m 644 "$work/completions.fish" "$tree/share/fish/vendor_completions.d/wellspring.fish"
"${runner[@]}" "$tree/bin/wellspring" man "$work/man" > /dev/null 2>&1
mkdir -p "$tree/share/man/man1" && cp "$work"/man/* "$tree/share/man/man1/"
for file in LICENSE THIRD-PARTY.md CHANGELOG.md README.md; do install -D -m 644 "$file" "$tree/share/doc/wellspring/$file"; done
install -D -m 644 release/wellspring.service "$tree/lib/systemd/system/wellspring.service"

echo "archive"
mkdir "$work/archive" && cp -a "$tree" "$work/archive/$name" && install -m 755 release/install.sh "$work/archive/$name/install.sh"
pack -C "$work/archive" -cf - "$name" | gzip -n -"$level" > "$dist/$name.tar.gz"

echo "Debian package"
deb=$work/deb
mkdir -p "$deb/DEBIAN" "$deb/usr" "$deb/lib" && cp -a "$tree/bin" "$tree/share" "$deb/usr/" && cp -a "$tree/lib/systemd" "$deb/lib/"
# The newest symbols that it asks for; a static binary asks for none.
glibc=$(readelf -V "$tree/bin/wellspring" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1 | cut -d_ -f2 || true)
cat > "$deb/DEBIAN/control" << CONTROL
Package: wellspring
Version: $version
Architecture: $debian
Maintainer: The Wellspring authors <wellspring@localhost>
Depends: ${glibc:+libc6 (>= $glibc), libgcc-s1, }ca-certificates
Section: net
Priority: optional
Installed-Size: $(du -sk "$deb/usr" | cut -f1)
Description: self-hosted, multi-tenant platform for event sources
 Components in JavaScript receive webhooks or poll APIs and emit events; each
 event runs in its own WebAssembly sandbox.
CONTROL
find "$deb" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
compressor=-Zxz && [ "$level" = 9 ] || compressor=-Zgzip
dpkg-deb --root-owner-group "$compressor" -z"$level" --build "$deb" "$dist/wellspring_${version}_$debian.deb" > /dev/null

echo "OCI image"
root=$work/root
mkdir -p "$root/usr/bin" "$root/etc/ssl/certs" "$root/data" "$root/tmp"
cp "$tree/bin/wellspring" "$root/usr/bin/"
# From scratch: the binary, the libraries that it names, which a static one does not, and the certificates of authorities.
for library in $(ldd "$tree/bin/wellspring" 2> /dev/null | grep -o '/[^ ]*'); do install -D -m 755 "$(realpath "$library")" "$root$library"; done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'wellspring:x:65532:65532::/data:/sbin/nologin' > "$root/etc/passwd"
echo 'wellspring:x:65532:' > "$root/etc/group"
chmod 1777 "$root/tmp"
# /data belongs to the user of the image; everything else to root.
layer=$work/layer.tar
pack -C "$root" --exclude=./data -cf "$layer" .
pack -C "$root" --owner=65532 --group=65532 --mode=700 -rf "$layer" ./data
image=$work/image && mkdir -p "$image/blobs/sha256"
# A blob is named by what it holds. Prints digest and size.
blob() { local digest && digest=$(sha256sum "$1" | cut -d' ' -f1) && cp "$1" "$image/blobs/sha256/$digest" && echo "\"digest\": \"sha256:$digest\", \"size\": $(stat -c %s "$1")"; }
diff_id=$(sha256sum "$layer" | cut -d' ' -f1)
gzip -n -"$level" "$layer"
layer_blob=$(blob "$layer.gz")
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
cat > "$work/config.json" << CONFIG
{"created": "$created", "architecture": "$oci", "os": "linux",
 "config": {"User": "65532:65532", "ExposedPorts": {"7717/tcp": {}}, "Env": ["PATH=/usr/bin", "HOME=/data", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
  "Entrypoint": ["/usr/bin/wellspring"], "Cmd": ["serve", "--listen", "0.0.0.0:7717", "--data", "/data"], "WorkingDir": "/data", "Volumes": {"/data": {}},
  "Labels": {"org.opencontainers.image.title": "Wellspring", "org.opencontainers.image.version": "$version", "org.opencontainers.image.licenses": "Apache-2.0"}},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$diff_id"]}, "history": [{"created": "$created", "created_by": "release/build.sh"}]}
CONFIG
cat > "$work/manifest.json" << MANIFEST
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
 "config": {"mediaType": "application/vnd.oci.image.config.v1+json", $(blob "$work/config.json")},
 "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", $layer_blob}]}
MANIFEST
cat > "$image/index.json" << INDEX
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", $(blob "$work/manifest.json"),
 "platform": {"architecture": "$oci", "os": "linux"}, "annotations": {"org.opencontainers.image.ref.name": "wellspring:$version"}}]}
INDEX
echo '{"imageLayoutVersion": "1.0.0"}' > "$image/oci-layout"
pack -C "$image" -cf "$dist/$name-image.tar" .

echo "SBOM"
cargo metadata --locked --format-version 1 --filter-platform "$target" | node release/sbom.cjs "$version" "$created" > "$dist/$name.spdx.json"

cp release/compose.yaml release/kubernetes.yaml release/install.sh "$dist/"
(cd "$dist" && sha256sum -- * > "$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
if [ -n "${WELLSPRING_SIGNING_KEY:-}" ]; then
  gpg --batch --yes --local-user "$WELLSPRING_SIGNING_KEY" --armor --detach-sign --output "$dist/SHA256SUMS.asc" "$dist/SHA256SUMS"
fi
ls -l "$dist" | awk 'NR > 1 { printf "%10d  %s\n", $5, $9 }'
