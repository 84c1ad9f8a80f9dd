//! The walk, where it is not seen in whole links.

use std::sync::Arc;

use serde_json::json;

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

#[tokio::test]
async fn folders_are_required_by_their_dots_alone() {
    let files = [
        ("a.js", "console.log(require('.').lib, require('..').top, require('./').lib, require('../').top)"),
        ("index.js", "exports.lib = 'lib'"),
        ("../index.js", "exports.top = 'top'"),
    ];
    let linked = link(FakeRegistry::default().into(), &entry_of(&files)).await.unwrap();

    assert_eq!(run_linked(&linked), "lib top lib top\n");
}

#[tokio::test]
async fn names_of_the_components_own_manifest_lead_to_files_packages_and_built_in_modules() {
    let registry = Arc::new(FakeRegistry::default());
    registry.publish("p", "1.0.0", &json!({}), &[("index.js", "exports.version = 1"), ("sub.js", "exports.sub = 's'")]);
    registry.publish("p", "2.0.0", &json!({}), &[("index.js", "exports.version = 2")]);
    let manifest = json!({
        "dependencies": {"p": "^1"},
        "imports": {
            "#p": "p",
            "#p/*": "p/*.js",
            "#lib/*": {"import": "./lib/*.mjs", "require": "./lib/*.js"},
            "#path": {"browser": "./no.js", "node": "node:path"},
            "#typed": "./typed.js",
        },
    });
    let source = "import p from '#p'; import { sub } from '#p/sub'; import { x } from '#lib/x'; import { posix } from '#path'; import * as path from '#path'; import { typed } from '#typed'; \
                  console.log(p.version, sub, x, typeof posix.join, typeof path.join, typed, (await import('#lib/x')).x)";
    let files = [
        ("a.mjs", source),
        ("lib/x.mjs", "export { x } from './y.cjs'"),
        ("lib/y.cjs", "exports.x = require('#lib/x').x + require('#path').sep"),
        ("lib/x.js", "exports.x = 'x'"),
        ("typed.ts", "export const typed: string = 't'"),
        ("package.json", &manifest.to_string()),
    ];
    let linked = link(registry, &entry_of(&files)).await.unwrap();

    assert_eq!(run_linked(&linked), "1 s x/ function function t x/\n");
    let locations: Vec<&str> = linked.dependencies.iter().map(|dependency| dependency.version.as_str()).collect();
    assert_eq!(locations, ["1.0.0"]);
}

#[tokio::test]
async fn names_of_a_packages_manifest_are_its_own() {
    let registry = Arc::new(FakeRegistry::default());
    let manifest = json!({
        "dependencies": {"q": "1"},
        "imports": {"#os": {"node": "os", "default": "./no.js"}, "#q": "q", "#in/*.js": "./src/*.js", "#in/secret/*": null},
    });
    let index = "const gone = () => { try { require('#in/secret/x.js') } catch { return 'none' } }; \
                 module.exports = [typeof require('#os').platform, require('#q'), require('#in/x.js'), gone()].join()";
    registry.publish("p", "1.0.0", &manifest, &[("index.js", index), ("src/x.js", "module.exports = 'x'")]);
    registry.publish("q", "1.0.0", &json!({}), &[("index.js", "module.exports = 'q'")]);
    let source = [("a.js", "console.log(require('p'))")];

    let linked = link(registry.clone(), &entry_of(&source)).await.unwrap();
    let unknown = link(registry, &entry_of(&[("a.js", "require('#os')"), ("package.json", "{\"imports\":{}}")])).await;

    assert_eq!(run_linked(&linked), "function,q,x,none\n");
    assert_eq!(unknown.unwrap_err().code(), "module_not_found");
}
