#!/bin/sh
# Installs the wellspring of an archive for this user, or with PREFIX=/usr/local for all. The archive is the folder this file is in,
# or WELLSPRING_ARCHIVE=<file or address of wellspring-…-linux.tar.gz>, whose SHA256SUMS lies beside it and is checked.
set -eu
prefix=${PREFIX:-$HOME/.local}
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${WELLSPRING_ARCHIVE:-}" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  name=$(basename "$WELLSPRING_ARCHIVE")
  case $WELLSPRING_ARCHIVE in
    *://*)
      curl --proto '=https' --tlsv1.2 -fsSL "$WELLSPRING_ARCHIVE" -o "$work/$name"
      curl --proto '=https' --tlsv1.2 -fsSL "$(dirname "$WELLSPRING_ARCHIVE")/SHA256SUMS" -o "$work/SHA256SUMS"
      ;;
    *) cp "$WELLSPRING_ARCHIVE" "$(dirname "$WELLSPRING_ARCHIVE")/SHA256SUMS" "$work/" ;;
  esac
  (cd "$work" && grep -F " $name" SHA256SUMS | sha256sum -c - > /dev/null) || { echo "error: $name is not what SHA256SUMS says" >&2; exit 1; }
  tar -xzf "$work/$name" -C "$work"
  here=$work/${name%.tar.gz}
fi
[ -x "$here/bin/wellspring" ] || { echo "error: there is no archive here; set WELLSPRING_ARCHIVE" >&2; exit 1; }
mkdir -p "$prefix"
cp -R "$here/bin" "$here/share" "$prefix/"
echo "installed $("$prefix/bin/wellspring" --version) in $prefix/bin"
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;; esac
