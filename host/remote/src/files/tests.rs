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

#[test]
fn the_nearest_manifest_comes_along_with_what_its_lock_file_says_about_versions() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "package.json",
        r#"{"name": "private", "type": "module", "dependencies": {"axios": "^1"}, "scripts": {"x": "y"}}"#,
    );
    let lock = r#"{"lockfileVersion": 3, "packages": {"": {"name": "private"},
        "node_modules/axios": {"version": "1.7.2", "resolved": "https://registry.example/axios.tgz", "integrity": "sha512-x"}}}"#;
    write(folder.path(), "package-lock.json", lock);
    write(folder.path(), "sources/entry.js", "import axios from 'axios'");
    write(folder.path(), "sources/deep/other.js", "import '../../app.js'");
    write(folder.path(), "app.js", "");

    let beside = collect(&folder.path().join("sources/entry.js")).unwrap().files;
    let above = collect(&folder.path().join("sources/deep/other.js")).unwrap().files;

    let manifest = r#"{"type":"module","dependencies":{"axios":"^1"}}"#;
    let versions = r#"{"packages":{"node_modules/axios":{"version":"1.7.2","integrity":"sha512-x"}}}"#;
    let expected = [("package-lock.json", versions), ("package.json", manifest)];
    assert_eq!(beside, expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
    assert_eq!(
        above.into_keys().collect::<Vec<_>>(),
        ["../../app.js", "../../package-lock.json", "../../package.json"]
    );
}

#[test]
fn a_manifest_above_the_work_tree_is_not_the_components() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "package.json", r#"{"type": "module"}"#);
    write(folder.path(), "repository/.git/HEAD", "");
    write(folder.path(), "repository/entry.js", "");

    assert_eq!(names(&folder.path().join("repository"), "entry.js"), Vec::<String>::new());
}
