//! Tests of fetch.

use super::{Url, candidates, relative_literals};

fn found(text: &str) -> Vec<String> {
    relative_literals(text).collect()
}

#[test]
fn files_are_found_in_requires_and_imports() {
    assert_eq!(found("const a = require('./lib/a'); import b from \"../b.app.mjs\""), ["./lib/a", "../b.app.mjs"]);
}

#[test]
fn packages_texts_and_templates_are_not_files() {
    assert_eq!(found("require('lodash'); x = './ not a path'; y = `./${name}`; z = \"./open"), Vec::<String>::new());
}

#[test]
fn a_path_without_extension_is_looked_up_as_node_does() {
    let from = Url::parse("https://example.com/a/b/entry.js").unwrap();

    let found: Vec<String> = candidates(&from, "../c").into_iter().map(String::from).collect();

    assert_eq!(found.first().map(String::as_str), Some("https://example.com/a/c.js"));
    assert_eq!(found.last().map(String::as_str), Some("https://example.com/a/c/index.js"));
    assert_eq!(candidates(&from, "./d.json").len(), 1);
}
