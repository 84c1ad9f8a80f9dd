//! Components that bring a `package.json`.

use std::sync::Arc;

use serde_json::json;

use crate::{
    LinkError, Linked,
    testing::{FakeRegistry, entry_of, link, run_linked},
};

/// Two packages with two versions each; the newest is what a component without a manifest gets.
fn registry() -> Arc<FakeRegistry> {
    let registry = Arc::new(FakeRegistry::default());
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        let text = format!("module.exports = 'inner {version}'");
        registry.publish("inner", version, &json!({}), &[("index.js", &text)]);
        let text = format!("module.exports = 'outer {version}, ' + require('inner')");
        registry.publish("outer", version, &json!({"dependencies": {"inner": "^1.0.0"}}), &[("index.js", &text)]);
    }
    registry
}

const ENTRY: &str = "console.log(require('outer'))";

async fn run(files: &[(&str, &str)]) -> String {
    run_linked(&linked(files).await.unwrap())
}

async fn linked(files: &[(&str, &str)]) -> Result<Linked, LinkError> {
    link(registry(), &entry_of(files)).await
}

#[tokio::test]
async fn ranges_are_those_of_the_manifest() {
    let with = |manifest| [("entry.js", ENTRY), ("package.json", manifest)];

    assert_eq!(run(&[("entry.js", ENTRY)]).await, "outer 2.0.0, inner 1.1.0\n");
    assert_eq!(run(&with(r#"{"dependencies": {"outer": "^1.0.0"}}"#)).await, "outer 1.1.0, inner 1.1.0\n");
    assert_eq!(run(&with(r#"{"devDependencies": {"outer": "1.0.0"}}"#)).await, "outer 1.0.0, inner 1.1.0\n");
    let alias = r#"{"dependencies": {"outer": "npm:inner@1.0.0"}}"#;
    assert_eq!(run(&with(alias)).await, "inner 1.0.0\n");
}

#[tokio::test]
async fn a_range_in_the_code_counts_more() {
    let files =
        [("entry.js", "console.log(require('outer@2'))"), ("package.json", r#"{"dependencies": {"outer": "1"}}"#)];

    assert_eq!(run(&files).await, "outer 2.0.0, inner 1.1.0\n");
}

#[tokio::test]
async fn the_nearest_manifest_counts_and_may_lie_above_the_entry() {
    let near = r#"{"dependencies": {"outer": "1.0.0"}}"#;
    let files = [("entry.js", ENTRY), ("../package.json", r#"{"dependencies": {"outer": "2.0.0"}}"#)];

    assert_eq!(run(&files).await, "outer 2.0.0, inner 1.1.0\n");
    assert_eq!(run(&[&files[..], &[("package.json", near)]].concat()).await, "outer 1.0.0, inner 1.1.0\n");
}

#[tokio::test]
async fn a_lock_file_pins_what_fits_and_no_more() {
    let manifest = r#"{"dependencies": {"outer": "^1.0.0"}}"#;
    let third = r#"{"lockfileVersion": 3, "packages": {"": {}, "node_modules/outer": {"version": "1.0.0"},
        "node_modules/outer/node_modules/inner": {"version": "1.0.0"}}}"#;
    let first = r#"{"lockfileVersion": 1, "dependencies": {"outer": {"version": "1.0.0",
        "dependencies": {"inner": {"version": "1.0.0"}}}}}"#;
    for lock in [third, first] {
        let files = [("entry.js", ENTRY), ("package.json", manifest), ("package-lock.json", lock)];
        assert_eq!(run(&files).await, "outer 1.0.0, inner 1.0.0\n", "{lock}");
    }
    let newer = r#"{"dependencies": {"outer": "^2.0.0"}}"#;
    let files = [("entry.js", ENTRY), ("package.json", newer), ("package-lock.json", third)];

    assert_eq!(run(&files).await, "outer 2.0.0, inner 1.0.0\n", "the manifest was changed after the lock file");
}

#[tokio::test]
async fn a_package_with_another_checksum_than_the_lock_file_says_is_refused() {
    let lock = r#"{"packages": {"node_modules/outer": {"version": "1.0.0", "integrity": "sha512-AAAA"}}}"#;
    let files =
        [("entry.js", ENTRY), ("package.json", r#"{"dependencies": {"outer": "1"}}"#), ("package-lock.json", lock)];

    let error = linked(&files).await.unwrap_err();

    assert!(matches!(&error, LinkError::LockMismatch { package } if package == "outer@1.0.0"), "{error}");
}

#[tokio::test]
async fn what_is_not_from_the_registry_and_what_is_no_json_is_told() {
    let with = |manifest| [("entry.js", ENTRY), ("package.json", manifest)];

    let git = linked(&with(r#"{"dependencies": {"outer": "git+https://example.com/outer.git"}}"#)).await.unwrap_err();
    let broken = linked(&with("{\n  nonsense")).await.unwrap_err();

    assert_eq!((git.code(), git.location().map(|location| location.line)), ("unsupported_dependency", Some(Some(1))));
    let place = broken.location().unwrap();
    assert_eq!((broken.code(), place.path.as_str(), place.line), ("syntax_error", "/component/package.json", Some(2)));
}

#[tokio::test]
async fn a_manifest_makes_es_modules_of_js_files_but_not_of_common_js() {
    let module = r#"{"type": "module"}"#;
    let strict = "console.log(this === undefined)";

    assert_eq!(run(&[("entry.js", strict)]).await, "false\n");
    assert_eq!(run(&[("entry.js", strict), ("package.json", module)]).await, "true\n");
    let common = "module.exports = {}; console.log(typeof require)";
    assert_eq!(run(&[("entry.js", common), ("package.json", module)]).await, "function\n");
}

#[tokio::test]
async fn packages_that_await_outside_of_functions_are_waited_for() {
    let registry = registry();
    let waits = "export const value = await Promise.resolve('waited'); export default value;";
    registry.publish("waits", "1.0.0", &json!({"type": "module"}), &[("index.js", waits)]).publish(
        "through",
        "1.0.0",
        &json!({"type": "module", "dependencies": {"waits": "1"}}),
        &[("index.js", "import value from 'waits'; export const twice = value + ' ' + value")],
    );
    let entry = "import { twice } from 'through'; import { value } from 'waits'; \
                 console.log(twice, value, (await import('waits')).default)";

    let linked = link(registry, &entry_of(&[("entry.mjs", entry)])).await.unwrap();

    assert_eq!(run_linked(&linked), "waited waited waited waited\n");
}
