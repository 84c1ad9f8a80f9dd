//! What a computed `require` finds, and what it does not.

use std::sync::Arc;

use serde_json::json;

use crate::{
    linked::Warning,
    testing::{FakeRegistry, entry_of, link, run_linked},
};

#[tokio::test]
async fn what_a_computed_require_can_mean_comes_along() {
    let registry = Arc::new(FakeRegistry::default());
    let index =
        "let hidden = null; exports.of = (name) => { hidden = require; return hidden('./locale/' + name).word };";
    let files =
        [("index.js", index), ("locale/de.js", "exports.word = 'Tag'"), ("locale/fr.js", "exports.word = 'jour'")];
    registry.publish("words", "1.0.0", &json!({}), &[files.as_slice(), &[("test/x.js", "")]].concat());
    registry.publish("dep", "1.0.0", &json!({}), &[("index.js", "module.exports = 'dep'")]);
    let source = "const path = require('path'), words = require('words');\n\
                  const one = require(__dirname + '/one'), two = require(path.join(__dirname, 'lib', 'two'));\n\
                  const by = (name) => [require('./steps/' + name), require(`./steps/${name}.ts`), require(path.resolve(__dirname, 'steps', name))];\n\
                  console.log(one, two, by('b').map((b) => b.b).join(), require('./steps/deep/c'), words.of('de'), words.of('fr'));\n\
                  for (const gone of ['/gone', './steps/gone']) try { require(gone[0] === '/' ? __dirname + gone : gone) } catch (e) { console.log(e.message) }\n";
    let component = entry_of(&[
        ("entry.js", source),
        ("one.js", "module.exports = 1"),
        ("lib/two.json", "2"),
        ("steps/b.ts", "import dep from 'dep'; export const b: string = dep"),
        ("steps/deep/c.js", "module.exports = 'c'"),
        ("other/d.js", "syntax error"),
    ]);

    let linked = link(registry, &component).await.unwrap();

    let printed = run_linked(&linked);
    let (found, missed) = printed.split_once('\n').unwrap();
    assert_eq!(found, "1 2 dep,dep,dep c Tag jour");
    assert!(missed.contains("'/component/gone'") && missed.contains("'./steps/gone'"), "{missed}");
    assert!(!linked.modules.contains_key("/node_modules/words/test/x.js"));
    assert!(
        linked.warnings.iter().all(|warning| matches!(warning, Warning::ComputedRequire { line: 5, .. })),
        "{:?}",
        linked.warnings
    );
}

#[tokio::test]
async fn a_computed_require_that_can_mean_too_much_means_nothing() {
    let names: Vec<String> = (0..501).map(|number| format!("many/f{number}.js")).collect();
    let files = |count: usize| {
        let many = names.iter().take(count).map(|name| (name.as_str(), ""));
        entry_of(&[("entry.js", "(name) => require('./many/' + name)")].into_iter().chain(many).collect::<Vec<_>>())
    };

    let most = link(FakeRegistry::default().into(), &files(500)).await.unwrap();
    let more = link(FakeRegistry::default().into(), &files(501)).await.unwrap();

    assert_eq!((most.modules.len(), more.modules.len()), (501, 1));
    assert_eq!((most.warnings.len(), more.warnings.len()), (0, 1));
}

#[tokio::test]
async fn a_computed_require_that_can_mean_too_many_bytes_means_nothing() {
    let half = " ".repeat((1 << 20) / 2);
    let files = |more: &str| {
        let other = format!("{half}{more}");
        entry_of(&[
            ("entry.js", "(name) => require('./large/' + name)"),
            ("large/a.js", half.as_str()),
            ("large/b.js", other.as_str()),
        ])
    };

    let most = link(FakeRegistry::default().into(), &files("")).await.unwrap();
    let more = link(FakeRegistry::default().into(), &files(" ")).await.unwrap();

    assert_eq!((most.modules.len(), more.modules.len()), (3, 1));
}
