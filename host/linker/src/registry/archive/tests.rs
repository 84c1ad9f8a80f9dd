//! Archives, good and bad.

use bytes::Bytes;

use super::unpack;
use crate::{
    config::Limits,
    error::{LimitKind, LinkError},
    memory::Memory,
    testing::tarball,
};

fn plenty() -> Memory {
    Memory::new(LimitKind::TotalBytes, u64::MAX)
}

const MANIFEST: (&str, &str) = ("package/package.json", "{}");

fn paths(files: &[(&str, &str)]) -> Vec<String> {
    unpack("a@1.0.0", &tarball(files), &Limits::default(), &plenty(), &mut |_| Ok(())).unwrap().into_keys().collect()
}

fn code(tarball: &[u8], limits: &Limits) -> String {
    unpack("a@1.0.0", tarball, limits, &plenty(), &mut |_| Ok(()))
        .map_or_else(|error| error.code().to_owned(), |_| "fine".to_owned())
}

#[test]
fn only_what_can_be_loaded_is_kept() {
    let files = [
        MANIFEST,
        ("package/index.js", "1"),
        ("package/README.md", "x"),
        ("package/index.d.ts", "x"),
        ("package/index.js.map", "x"),
        ("package/bin/cli", "x"),
        ("package/build/addon.node", "ELF"),
        ("package/binding.gyp", "{}"),
        ("package/./a//b.mjs", "1"),
        ("package/node_modules/c/index.cjs", "1"),
    ];
    let unpacked = unpack("a@1.0.0", &tarball(&files), &Limits::default(), &plenty(), &mut |_| Ok(())).unwrap();

    let expected = [
        "a/b.mjs",
        "bin/cli",
        "binding.gyp",
        "build/addon.node",
        "index.js",
        "node_modules/c/index.cjs",
        "package.json",
    ];
    assert_eq!(unpacked.keys().collect::<Vec<_>>(), expected);
    assert_eq!(unpacked["build/addon.node"], Bytes::new());
    assert_eq!(unpacked["index.js"], "1");
}

#[test]
fn the_first_folder_may_have_any_name() {
    assert_eq!(paths(&[("node-v1/package.json", "{}"), ("node-v1/a.js", "")]), ["a.js", "package.json"]);
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in ["package/../../x.js", "../x.js", "package/a/../../../x.js", "package\\..\\..\\x.js"] {
        let bad = tarball(&[MANIFEST, (path, "")]);
        assert_eq!(code(&bad, &Limits::default()), "corrupt_package", "{path}");
    }
}

#[test]
fn absolute_paths_lose_their_meaning() {
    assert_eq!(paths(&[MANIFEST, ("/etc/passwd.js", "")]), ["package.json", "passwd.js"]);
}

#[test]
fn links_are_passed_over() {
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, kind) in [
        ("package/link.js", tar::EntryType::Symlink),
        ("package/hard.js", tar::EntryType::Link),
        ("package/fifo", tar::EntryType::Fifo),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        builder.append_link(&mut header, path, "/etc/passwd").unwrap();
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(2);
    builder.append_data(&mut header, "package/package.json", "{}".as_bytes()).unwrap();
    let archive = builder.into_inner().unwrap().finish().unwrap();

    let files = unpack("a@1.0.0", &archive, &Limits::default(), &plenty(), &mut |_| Ok(())).unwrap();

    assert_eq!(files.keys().collect::<Vec<_>>(), ["package.json"]);
}

#[test]
fn what_is_no_archive_is_corrupt() {
    let good = tarball(&[MANIFEST, ("package/a.js", &"x".repeat(5000))]);
    let cut = &good[..good.len() / 2];
    for bad in [&b""[..], b"not gzip", cut, &tarball(&[("package/a.js", "")])] {
        assert_eq!(code(bad, &Limits::default()), "corrupt_package");
    }
}

#[test]
fn bytes_are_bounded_exactly() {
    let archive = tarball(&[MANIFEST, ("package/a.js", &"x".repeat(100_000)), ("package/b.md", &"x".repeat(50_000))]);
    // Both files, the manifest, and what tar adds to them in blocks of 512 bytes.
    let whole = 3 * 512 + 512 + 100_352 + 50_176 + 1024;
    let limits = |unpacked_bytes| Limits { unpacked_bytes, ..Limits::default() };

    assert_eq!(code(&archive, &limits(whole)), "fine");
    assert_eq!(code(&archive, &limits(100_000)), "over_limit");
    assert_eq!(code(&archive, &limits(150_001)), "over_limit");
}

#[test]
fn a_bomb_is_not_unpacked() {
    let bomb = tarball(&[MANIFEST, ("package/a.js", &"0".repeat(20 << 20))]);
    assert!(bomb.len() < 200_000);

    assert_eq!(code(&bomb, &Limits { unpacked_bytes: 1 << 20, ..Limits::default() }), "over_limit");
}

#[test]
fn files_are_counted_exactly() {
    let archive = tarball(&[MANIFEST, ("package/a.js", ""), ("package/b.md", "")]);
    let limits = |file_count| Limits { file_count, ..Limits::default() };

    assert_eq!(code(&archive, &limits(3)), "fine");
    assert_eq!(code(&archive, &limits(2)), "over_limit");
}

#[test]
fn what_does_not_fit_is_not_unpacked_and_takes_nothing() {
    let files = [MANIFEST, ("package/a.js", "12345"), ("package/readme.md", "not kept, and not counted")];
    let archive = tarball(&files);
    let unpack_in = |memory: &Memory| unpack("a@1.0.0", &archive, &Limits::default(), memory, &mut |_| Ok(()));

    let (enough, short) = (Memory::new(LimitKind::TotalBytes, 7), Memory::new(LimitKind::TotalBytes, 6));
    unpack_in(&enough).unwrap();

    assert_eq!(enough.used(), 7);
    assert!(matches!(unpack_in(&short), Err(LinkError::OverLimit { kind: LimitKind::TotalBytes, limit: 6, .. })));
    assert_eq!(short.used(), 0);
    assert!(unpack_in(&enough).is_err(), "the first is still held");
}
