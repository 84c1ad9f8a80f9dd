//! Whole links, against a registry in memory.

mod own_rules;
mod shared_memory;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    Blame, Config, Dependency, EsModules, FetchError, LimitKind, LinkError, Linker, ModuleKind, Progress, Warning,
    testing::{FakeRegistry, config, entry, entry_of, link, link_with, response, run_linked, tarball},
};

fn registry() -> Arc<FakeRegistry> {
    Arc::default()
}

/// `{"dependencies": {name: range}}`
fn on(name: &str, range: &str) -> Value {
    json!({ "dependencies": { name: range } })
}

async fn code(registry: &Arc<FakeRegistry>, source: &str) -> (&'static str, Blame) {
    let error = link(Arc::clone(registry), &entry(source)).await.expect_err(source);
    assert!(!error.hint().is_empty() && !error.to_string().is_empty());
    (error.code(), error.blame())
}

fn locations(dependencies: &[Dependency]) -> Vec<String> {
    dependencies.iter().map(|dependency| format!("{} {}", dependency.location, dependency.version)).collect()
}

#[tokio::test]
async fn a_component_with_packages_links_and_runs() {
    let registry = registry();
    registry
        .publish("b", "1.0.0", &json!({}), &[("index.js", "exports.name = 'b1'")])
        .publish("b", "2.0.0", &json!({}), &[("index.js", "exports.name = 'b2'")])
        .publish(
            "a",
            "1.0.0",
            &on("b", "^1"),
            &[("index.js", "module.exports = 'a+' + require('b').name"), ("lib/x.json", "{\"x\":1}")],
        );
    let source = "const b = require('b'), c = require('./lib/c');\nconsole.log(require('a'), b.name, c.x, require('a/lib/x.json').x, require('fs') !== undefined)";

    let linked =
        link(registry, &entry_of(&[("entry.js", source), ("lib/c.mjs", "export const x = 'c'")])).await.unwrap();

    assert_eq!(run_linked(&linked), "a+b1 b2 c 1 true\n");
    assert_eq!(
        locations(&linked.dependencies),
        ["node_modules/a 1.0.0", "node_modules/a/node_modules/b 1.0.0", "node_modules/b 2.0.0"]
    );
    assert_eq!(linked.dependencies[1].from, "node_modules/a");
    assert_eq!(linked.dependencies[1].range, "^1");
    assert_eq!(linked.entry, "/component/entry.js");
    assert_eq!(linked.modules["/node_modules/a/lib/x.json"].kind, ModuleKind::Json);
    assert_eq!(linked.warnings, []);
}

#[tokio::test]
async fn versions_are_pinned_in_the_require_string() {
    let registry = registry();
    for version in ["1.0.0", "1.1.0", "1.1.5", "2.0.0", "3.0.0-beta.1"] {
        registry.publish(
            "@s/p",
            version,
            &json!({}),
            &[
                ("index.js", &format!("module.exports = '{version}'")),
                ("lib/x.js", &format!("module.exports = 'x{version}'")),
            ],
        );
    }
    registry.tag("@s/p", "latest", "2.0.0").tag("@s/p", "next", "3.0.0-beta.1");
    let source = "console.log(['@s/p', '@s/p@1.0.0', '@s/p@^1', '@s/p@~1.0', '@s/p@next', '@s/p@1.1.0/lib/x'].map((name) => name && require(name)).join())\n\
                  require('@s/p'), require('@s/p@1.0.0'), require('@s/p@^1'), require('@s/p@~1.0'), require('@s/p@next'), require('@s/p@1.1.0/lib/x')";

    let linked = link(registry, &entry(source)).await.unwrap();

    assert_eq!(run_linked(&linked), "2.0.0,1.0.0,1.1.5,1.0.0,3.0.0-beta.1,x1.1.0\n");
}

#[tokio::test]
async fn linking_twice_gives_the_same_and_relinking_gives_it_elsewhere() {
    let registry = registry();
    registry.publish("b", "1.0.0", &json!({}), &[("index.js", "exports.b = 1")]).publish(
        "a",
        "1.0.0",
        &on("b", "^1"),
        &[("index.js", "require('b')")],
    );
    let component = entry("require('a')");
    let first = link(Arc::clone(&registry), &component).await.unwrap();
    let second = link(Arc::clone(&registry), &component).await.unwrap();
    assert_eq!(first, second);
    let stored: crate::Linked = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
    assert_eq!(stored, first);

    registry.publish("b", "1.5.0", &json!({}), &[("index.js", "exports.b = 'new'")]);
    let folder = tempfile::tempdir().unwrap();
    let linker = Linker::new(config(folder.path()), registry);
    let relinked = linker.relink(&component, &stored.dependencies, &|_| {}).await.unwrap();

    assert_eq!(relinked, first);
    let error = linker.relink(&entry("require('a@^2')"), &stored.dependencies, &|_| {}).await.unwrap_err();
    assert_eq!(error.code(), "lock_outdated");
}

#[tokio::test]
async fn the_authors_mistakes_have_codes_of_their_own() {
    let registry = registry();
    registry
        .publish("a", "1.0.0", &json!({ "exports": { ".": "./index.js" } }), &[("index.js", ""), ("hidden.js", "")])
        .publish("native", "1.0.0", &json!({}), &[("index.js", ""), ("binding.gyp", "")])
        .publish("direct", "1.0.0", &json!({ "main": "x.node" }), &[("x.node", "")])
        .publish("git", "1.0.0", &on("x", "git+https://x.test/y.git"), &[])
        .publish("file", "1.0.0", &on("x", "file:../x"), &[])
        .publish("web", "1.0.0", &on("x", "https://x.test/y.tgz"), &[])
        .publish("needy", "1.0.0", &on("nowhere", "1"), &[])
        .publish_tarball("corrupt", "1.0.0", &json!({}), tarball(&[("package/../../x", "")]))
        .publish("esm", "1.0.0", &json!({ "type": "module" }), &[("index.js", "export const here = 1")]);
    let cases = [
        ("require('nowhere')", "package_not_found"),
        ("require('needy')", "package_not_found"),
        ("require('a@9')", "version_not_found"),
        ("require('a@nope')", "version_not_found"),
        ("require('a/hidden.js')", "module_not_found"),
        ("require('./missing')", "file_not_found"),
        ("require('UPPER CASE')", "invalid_specifier"),
        ("require('https://x.test/y.js')", "invalid_specifier"),
        ("require('git')", "unsupported_dependency"),
        ("require('file')", "unsupported_dependency"),
        ("require('web')", "unsupported_dependency"),
        ("require('native')", "native_addon"),
        ("require('direct')", "native_addon"),
        ("require('corrupt')", "corrupt_package"),
        ("let a = ;", "syntax_error"),
        ("import { gone } from 'esm'", "missing_export"),
        (&"[".repeat(60_000), "nesting_too_deep"),
    ];
    for (source, expected) in cases {
        assert_eq!(code(&registry, source).await, (expected, Blame::Author), "{}", &source[..source.len().min(60)]);
    }
}

#[tokio::test]
async fn a_wrong_version_is_answered_with_close_ones() {
    let registry = registry();
    for version in ["1.0.0", "1.2.0", "2.0.0"] {
        registry.publish("a", version, &json!({}), &[]);
    }

    let error = link(registry, &entry("require('a@1.1.0')")).await.unwrap_err();

    assert_eq!(
        error.to_string(),
        "package \"a\" has no version \"1.1.0\", which the component asks for; did you mean 1.0.0 or 1.2.0 or 2.0.0?"
    );
}

#[tokio::test(start_paused = true)]
async fn a_registry_out_of_reach_is_not_the_authors_mistake() {
    for answer in [|| Err(FetchError::Unreachable { cause: "refused".to_owned() }), || Ok(response(502, Bytes::new()))]
    {
        let registry = registry();
        registry.fail("a", answer()).fail("a", answer()).fail("a", answer());

        assert_eq!(code(&registry, "require('a')").await.1, Blame::Unavailable);
    }
}

#[tokio::test]
async fn optional_and_peer_dependencies_are_treated_as_npm_treats_them() {
    let registry = registry();
    registry
        .publish("a", "1.0.0", &json!({ "optionalDependencies": { "gone": "1", "mac": "1" }, "peerDependencies": { "peer": "^1", "maybe": "1" }, "peerDependenciesMeta": { "maybe": { "optional": true } } }), &[("index.js", "try { require('mac') } catch {}; require('peer')")])
        .publish("peer", "1.5.0", &json!({}), &[("index.js", "")])
        .publish("peer", "2.0.0", &json!({}), &[])
        .publish("mac", "1.0.0", &json!({ "os": ["darwin"] }), &[])
        .publish("types", "1.0.0", &on("@types/x", "1"), &[("index.js", "")])
        .publish("@types/x", "1.0.0", &json!({}), &[]);

    let linked = link(Arc::clone(&registry), &entry("require('a'), require('types')")).await.unwrap();

    let skipped: Vec<&str> =
        linked.dependencies.iter().filter(|item| item.is_skipped).map(|item| item.name.as_str()).collect();
    assert_eq!(skipped, ["@types/x", "mac"]);
    assert_eq!(
        locations(&linked.dependencies),
        [
            "node_modules/@types/x 1.0.0",
            "node_modules/a 1.0.0",
            "node_modules/mac 1.0.0",
            "node_modules/peer 1.5.0",
            "node_modules/types 1.0.0"
        ]
    );
    assert!(linked.warnings.contains(&Warning::OptionalDependency {
        name: "gone".to_owned(),
        range: "1".to_owned(),
        from: "node_modules/a".to_owned()
    }));
    assert!(
        !registry.requests.lock().unwrap().iter().any(|(path, _)| path.contains("mac/-/") || path.contains("x/-/"))
    );
}

#[tokio::test]
async fn conflicting_peers_are_a_warning() {
    let registry = registry();
    registry
        .publish("peer", "1.0.0", &json!({}), &[("index.js", "")])
        .publish("peer", "2.0.0", &json!({}), &[("index.js", "")])
        .publish("a", "1.0.0", &json!({ "peerDependencies": { "peer": "^1" } }), &[("index.js", "")]);

    let linked = link(registry, &entry("require('a'), require('peer@2')")).await.unwrap();

    assert!(
        linked.warnings.iter().any(|warning| matches!(warning, Warning::PeerConflict { .. })),
        "{:?}",
        linked.warnings
    );
    assert!(locations(&linked.dependencies).contains(&"node_modules/peer 2.0.0".to_owned()));
}

#[tokio::test]
async fn aliases_bundles_and_circles_work() {
    let registry = registry();
    registry
        .publish("real", "1.0.0", &json!({}), &[("index.js", "module.exports = 'real'")])
        .publish("alias", "1.0.0", &on("other", "npm:real@1"), &[("index.js", "module.exports = require('other')")])
        .publish(
            "bundle",
            "1.0.0",
            &json!({ "dependencies": { "inner": "git+https://x.test/y" }, "bundleDependencies": ["inner"] }),
            &[
                ("index.js", "module.exports = require('inner')"),
                ("node_modules/inner/package.json", "{}"),
                ("node_modules/inner/index.js", "module.exports = 'inner'"),
            ],
        )
        .publish("one", "1.0.0", &on("two", "1"), &[("index.js", "exports.one = 1; exports.two = require('two').two")])
        .publish("two", "1.0.0", &on("one", "1"), &[("index.js", "exports.two = require('one').one + 1")]);

    let linked =
        link(registry, &entry("console.log(require('alias'), require('bundle'), require('one').two)")).await.unwrap();

    assert_eq!(run_linked(&linked), "real inner 2\n");
}

#[tokio::test]
async fn what_packages_lack_is_a_warning() {
    let registry = registry();
    let index = "try { require('./gone') } catch {} try { require('undeclared') } catch {} try { require('./broken') } catch (e) { console.log(e.name) } try { require('./addon') } catch {}";
    registry.publish("a", "1.0.0", &json!({}), &[("index.js", index), ("broken.js", "var ;"), ("addon.node", "")]);

    let linked = link(registry, &entry("require('a')")).await.unwrap();

    let printed = run_linked(&linked);
    assert_eq!(printed, "SyntaxError\n");
    let codes: BTreeSet<String> = linked
        .warnings
        .iter()
        .map(|warning| serde_json::to_value(warning).unwrap()["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(codes, ["native_addon", "unparsable", "unresolved"].map(str::to_owned).into());
}

#[tokio::test]
async fn what_the_component_tries_for_may_be_missing() {
    let source = "try { require('nowhere') } catch (e) { console.log(e.code) } try { require('./gone') } catch (e) { console.log(e.code) } let x = 'a'; try { require(x) } catch {}";

    let linked = link(registry(), &entry(source)).await.unwrap();

    assert_eq!(run_linked(&linked), "MODULE_NOT_FOUND\nMODULE_NOT_FOUND\n");
    assert!(linked.warnings.contains(&Warning::ComputedRequire { path: "/component/entry.js".to_owned(), line: 1 }));
}

#[tokio::test]
async fn es_modules_can_be_kept() {
    let registry = registry();
    registry.publish("c", "1.0.0", &json!({}), &[("index.js", "exports.a = 1")]).publish(
        "e",
        "1.0.0",
        &json!({ "type": "module" }),
        &[("index.js", "export * from './x.js'; await 1"), ("x.js", "export const x = 1")],
    );
    let source = "import { a, missing } from 'c'; import * as e from 'e'; export default [a, e]";

    let linked =
        link_with(registry, &entry(source), |config: &mut Config| config.es_modules = EsModules::Keep).await.unwrap();

    let module = |path: &str| &linked.modules[path];
    assert_eq!((module("/component/entry.js").kind, &*module("/component/entry.js").source), (ModuleKind::Esm, source));
    assert_eq!(module("/node_modules/c/index.js").export_names, ["a", "missing"]);
    assert_eq!(module("/node_modules/e/index.js").export_names, ["x"]);
    assert!(module("/node_modules/e/index.js").has_top_level_await);
}

#[tokio::test]
async fn every_limit_holds_at_its_bound() {
    let registry = registry();
    registry.publish("b", "1.0.0", &json!({}), &[("index.js", "/* b */")]).publish(
        "a",
        "1.0.0",
        &on("b", "1"),
        &[("index.js", "require('b')")],
    );
    let component = entry("require('a')");
    let linked = link(Arc::clone(&registry), &component).await.unwrap();
    let linked_bytes: usize = linked.modules.values().map(|module| module.source.len()).sum();
    let kept: usize = [
        "{\"dependencies\":{\"b\":\"1\"},\"name\":\"a\",\"version\":\"1.0.0\"}",
        "{\"name\":\"b\",\"version\":\"1.0.0\"}",
        "require('b')",
        "/* b */",
    ]
    .iter()
    .map(|text| text.len())
    .sum();
    let longest = linked.modules.values().map(|module| module.source.len()).max().unwrap();
    type Adjust = fn(&mut Config, u64);
    let cases: [(LimitKind, u64, Adjust); 5] = [
        (LimitKind::Packages, 2, |config, limit| config.limits.package_count = limit as usize),
        (LimitKind::Modules, 3, |config, limit| config.limits.module_count = limit as usize),
        (LimitKind::LinkedBytes, linked_bytes as u64, |config, limit| config.limits.linked_bytes = limit as usize),
        (LimitKind::SourceBytes, longest as u64, |config, limit| config.limits.source_bytes = limit as usize),
        (LimitKind::TotalBytes, kept as u64, |config, limit| config.limits.total_bytes = limit),
    ];
    for (kind, bound, adjust) in cases {
        let within = link_with(Arc::clone(&registry), &component, |config| adjust(config, bound)).await;
        assert!(within.is_ok(), "{kind}: {within:?}");
        let beyond = link_with(Arc::clone(&registry), &component, |config| adjust(config, bound - 1)).await;
        assert!(
            matches!(&beyond, Err(LinkError::OverLimit { kind: actual, .. }) if *actual == kind),
            "{kind}: {beyond:?}"
        );
    }
    for (kind, adjust) in [
        (LimitKind::PackumentBytes, (|config, limit| config.limits.packument_bytes = limit) as Adjust),
        (LimitKind::TarballBytes, |config, limit| config.limits.tarball_bytes = limit),
        (LimitKind::PackumentsBytes, |config, limit| config.limits.packuments_bytes = limit),
    ] {
        let beyond = link_with(Arc::clone(&registry), &component, |config| adjust(config, 10)).await;
        assert!(
            matches!(&beyond, Err(LinkError::OverLimit { kind: actual, .. }) if *actual == kind),
            "{kind}: {beyond:?}"
        );
    }
}

#[tokio::test]
async fn progress_is_told_in_order() {
    let registry = registry();
    registry.publish("a", "1.0.0", &json!({}), &[("index.js", "")]);
    let folder = tempfile::tempdir().unwrap();
    let told = Mutex::new(Vec::new());

    Linker::new(config(folder.path()), registry)
        .link(&entry("require('a')"), &|progress| told.lock().unwrap().push(progress))
        .await
        .unwrap();

    let told = told.into_inner().unwrap();
    assert_eq!(told.first(), Some(&Progress::Resolving { packages: 1 }));
    assert!(matches!(told[1], Progress::Downloading { packages: 1, of: 1, bytes } if bytes > 0));
    assert_eq!(told.last(), Some(&Progress::Done { packages: 1, modules: 2 }));
    assert_eq!(serde_json::to_value(&told[0]).unwrap(), json!({ "stage": "resolving", "packages": 1 }));
}

#[tokio::test]
async fn a_second_link_needs_no_network() {
    let registry = registry();
    registry.publish("a", "1.0.0", &json!({}), &[("index.js", "")]);
    let folder = tempfile::tempdir().unwrap();
    let first = Linker::new(config(folder.path()), Arc::clone(&registry) as _)
        .link(&entry("require('a')"), &|_| {})
        .await
        .unwrap();

    let second = Linker::new(config(folder.path()), Arc::new(FakeRegistry::default()))
        .link(&entry("require('a')"), &|_| {})
        .await
        .unwrap();

    assert_eq!(first, second);
}
