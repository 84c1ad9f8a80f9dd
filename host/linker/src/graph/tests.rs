//! The walk, where it is not seen in whole links.

use crate::testing::{FakeRegistry, entry_of, link, run_linked};

#[tokio::test]
async fn components_of_several_files_reach_above_their_folder() {
    let files = [
        (
            "new-issue.js",
            "const app = require('../../github.app.js'); const common = require('../common'); console.log(app.name, common.x, require('./data.json').y, require('..').z)",
        ),
        ("../../github.app.js", "module.exports = { name: 'github' }"),
        ("../common.js", "module.exports = { x: require('../github.app').name.length }"),
        ("../index.js", "exports.z = 'z'"),
        ("data.json", "\u{feff}{ \"y\": 1 }"),
        ("never-required.js", "this is not JavaScript"),
    ];
    let linked = link(FakeRegistry::default().into(), &entry_of(&files)).await.unwrap();

    assert_eq!(run_linked(&linked), "github 6 1 z\n");
}

#[tokio::test]
async fn a_folder_whose_name_only_another_file_knows_is_found() {
    let files = [
        ("my-tweets.js", "console.log(require('../../twitter.app').codes, require('../common').own)"),
        (
            "../../twitter.app.js",
            "exports.codes = require('./sources/codes').length + require('./sources/my-tweets/own.js')",
        ),
        ("../codes.js", "module.exports = ['de', 'en']"),
        ("../common.js", "exports.own = require('./my-tweets/own')"),
        ("own.js", "module.exports = 40"),
    ];
    let linked = link(FakeRegistry::default().into(), &entry_of(&files)).await.unwrap();
    assert_eq!(run_linked(&linked), "42 40\n");

    let missing = [("a.js", "require('../b.js')"), ("../b.js", "require('./sources/not-there')")];
    assert_eq!(link(FakeRegistry::default().into(), &entry_of(&missing)).await.unwrap_err().code(), "file_not_found");
}

#[tokio::test]
async fn names_pass_through_stars_of_every_kind() {
    let files = [
        ("a.mjs", "import { one, two, three } from './b.mjs'; console.log(one, two, three)"),
        ("b.mjs", "export * from './c.mjs'; export * from './d.cjs'; export const one = 1"),
        ("c.mjs", "export * from './b.mjs'; export const two = 2; export default 0"),
        ("d.cjs", "module.exports = require('./e.cjs')"),
        ("e.cjs", "exports.three = 3"),
    ];
    let linked = link(FakeRegistry::default().into(), &entry_of(&files)).await.unwrap();

    assert_eq!(run_linked(&linked), "1 2 3\n");
    assert_eq!(linked.modules["/component/b.mjs"].export_names, ["one", "three", "two"]);
}

#[tokio::test]
async fn a_bad_json_file_is_the_authors_mistake() {
    let error =
        link(FakeRegistry::default().into(), &entry_of(&[("a.js", "require('./b.json')"), ("b.json", "{\n  bad }")]))
            .await
            .unwrap_err();

    assert_eq!(error.to_string(), "/component/b.json:2:3: this is not JSON");
}
