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

#[test]
fn a_folder_is_its_index() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "c/entry.js", "require('./lib/a'); require('..'); require('./lib/')");
    write(folder.path(), "c/lib/a.js", "require('.'); require('..'); require('./b/..')");
    write(folder.path(), "c/lib/index.js", "");
    write(folder.path(), "c/lib.js", "");
    write(folder.path(), "c/index.js", "require('./'); require('./lib')");
    write(folder.path(), "index.js", "");

    assert_eq!(names(folder.path(), "c/entry.js"), ["../index.js", "index.js", "lib.js", "lib/a.js", "lib/index.js"]);
}

#[test]
fn the_files_behind_names_of_the_manifest_are_sent_with_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = r##"{"imports": {
        "#lib/*": "./src/lib/*.js", "#up": {"import": "./up.mjs", "default": "./up.cjs"}, "#axios": "axios", "#gone": "./gone.js"
    }}"##;
    write(folder.path(), "package.json", manifest);
    write(folder.path(), "src/low.js", "require('#lib/x'); require('#axios'); require('#unknown')");
    write(folder.path(), "src/high.js", "require('#lib/x'); import('#up'); require('#gone')");
    write(folder.path(), "beside.js", "require('#lib/x')");
    write(folder.path(), "src/lib/x.js", "require('./y')");
    write(folder.path(), "src/lib/y.js", "");
    write(folder.path(), "up.mjs", "");
    write(folder.path(), "up.cjs", "");
    let sent = |entry: &str| {
        let files = collect(&folder.path().join(entry)).unwrap().files;
        let (path, text) = files.iter().find(|(path, _)| path.ends_with("package.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(text).unwrap();
        let others: Vec<String> = files.keys().filter(|other| *other != path).cloned().collect();
        (path.clone(), others, manifest["imports"].clone())
    };

    let (path, others, imports) = sent("src/low.js");
    assert_eq!((path.as_str(), others), ("package.json", vec!["lib/x.js".to_owned(), "lib/y.js".to_owned()]));
    assert_eq!((&imports["#lib/x"], &imports["#axios"]), (&"./lib/x.js".into(), &"axios".into()));

    let (path, others, imports) = sent("src/high.js");
    assert_eq!(path, "../package.json");
    assert_eq!(others, ["../up.cjs", "../up.mjs", "lib/x.js", "lib/y.js"]);
    assert_eq!(imports["#lib/x"], "./parent/lib/x.js", "the server does not know that the folder is called src");
    assert_eq!(imports["#up"], serde_json::json!({"import": "./up.mjs", "default": "./up.cjs"}));

    let (path, others, imports) = sent("beside.js");
    assert_eq!((path.as_str(), others), ("package.json", vec!["src/lib/x.js".to_owned(), "src/lib/y.js".to_owned()]));
    assert_eq!((imports.as_object().unwrap().len(), &imports["#lib/*"]), (4, &"./src/lib/*.js".into()));
}

#[test]
fn of_tsconfig_what_it_says_about_decorators_is_sent_with_typescript() {
    let config = "{\n  // \"experimentalDecorators\": false\n  \"extends\": \"./base.json\",\n  \"compilerOptions\": {\n    \
                  \"strict\": true,\n    \"experimentalDecorators\": true, /* both */ \"emitDecoratorMetadata\" : true,\n  },\n}\n";
    let sent = r#"{"compilerOptions":{"emitDecoratorMetadata":true,"experimentalDecorators":true}}"#;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "tsconfig.json", config);
    write(folder.path(), "one/plain.js", "module.exports = {}");
    write(folder.path(), "one/alone.ts", "export default {}");
    write(folder.path(), "one/with.js", "require('../two/typed.ts')");
    write(folder.path(), "two/typed.ts", "");
    write(folder.path(), "three/entry.ts", "");
    write(folder.path(), "three/tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}");

    let config = |entry: &str| {
        let files = collect(&folder.path().join(entry)).unwrap().files;
        files.into_iter().find(|(name, _)| name.ends_with("tsconfig.json"))
    };
    assert_eq!(config("one/plain.js"), None);
    assert_eq!(config("one/alone.ts"), Some(("tsconfig.json".to_owned(), sent.to_owned())));
    assert_eq!(config("one/with.js"), Some(("../tsconfig.json".to_owned(), sent.to_owned())));
    assert_eq!(config("three/entry.ts"), None, "the nearest counts");
}

#[test]
fn files_that_a_computed_require_may_ask_for_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "entry.js",
        "require(__dirname + '/one'); require(path.join(__dirname, 'lib', 'two')); require.resolve('./three'); require('./steps/' + name); \
         require(`./locale-${name}`); require(name); require('./' + name); require('./lib', 'steps'); require(path.resolve(__dirname, 'late', name))",
    );
    for name in [
        "one.js",
        "lib/two.json",
        "three.js",
        "steps/a.js",
        "steps/deep/b.ts",
        "steps/a.test.js",
        "steps/a.md",
        "other.js",
    ] {
        write(folder.path(), name, "");
    }
    for name in ["locale-de.js", "locale.js", "late/c.js", "late/node_modules/d.js"] {
        write(folder.path(), name, "");
    }

    let sent = ["late/c.js", "lib/two.json", "locale-de.js", "one.js", "steps/a.js", "steps/deep/b.ts", "three.js"];
    assert_eq!(names(folder.path(), "entry.js"), sent);
    for number in 0..=100 {
        write(folder.path(), &format!("steps/f{number}.js"), "");
    }
    assert!(!names(folder.path(), "entry.js").iter().any(|name| name.starts_with("steps/")));
}
