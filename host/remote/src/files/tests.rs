//! Tests of files.

use std::path::Path;

use super::{BYTES_MAXIMUM, FILES_MAXIMUM, collect};
use crate::error::Error;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn names(folder: &Path, entry: &str) -> Vec<String> {
    collect(&folder.join(entry)).unwrap().files.into_keys().collect()
}

#[test]
fn a_file_that_a_comment_names_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "entry.js", "/** @type {import(\"./wellspring\").Source} */\nmodule.exports = {};");
    std::fs::write(folder.path().join("wellspring"), b"\x7fELF\xff").unwrap();

    assert_eq!(names(folder.path(), "entry.js"), Vec::<String>::new());
}

#[test]
fn files_are_found_as_node_finds_them_and_each_once() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "deep/entry.js",
        "require('./a'); require('./folder'); require('../up.json'); require('./missing')",
    );
    write(folder.path(), "deep/a.js", "require('./entry'); require('./folder/../b.mjs')");
    write(folder.path(), "deep/b.mjs", "import './a.js'; import './typed.js'");
    write(folder.path(), "deep/typed.ts", "");
    write(folder.path(), "deep/folder/index.js", "require('../a')");
    write(folder.path(), "up.json", "{}");

    assert_eq!(names(folder.path(), "deep/entry.js"), ["../up.json", "a.js", "b.mjs", "folder/index.js", "typed.ts"]);
}

#[test]
fn a_component_has_a_bound_on_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let refer = |count: usize| (0..count).map(|number| format!("require('./f{number}.js');")).collect::<String>();
    for number in 0..=FILES_MAXIMUM {
        write(folder.path(), &format!("f{number}.js"), "");
    }
    write(folder.path(), "most.js", &refer(FILES_MAXIMUM));
    write(folder.path(), "more.js", &refer(FILES_MAXIMUM + 1));

    assert_eq!(names(folder.path(), "most.js").len(), FILES_MAXIMUM);
    let refused = collect(&folder.path().join("more.js")).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { what: "files", .. }), "{refused}");
}

#[test]
fn a_component_has_a_bound_on_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let entry = "require('./big.js')";
    write(folder.path(), "entry.js", entry);
    write(folder.path(), "big.js", &" ".repeat(BYTES_MAXIMUM - entry.len()));

    assert_eq!(names(folder.path(), "entry.js"), ["big.js"]);
    write(folder.path(), "big.js", &" ".repeat(BYTES_MAXIMUM - entry.len() + 1));

    let refused = collect(&folder.path().join("entry.js")).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { what: "bytes", .. }), "{refused}");
}
