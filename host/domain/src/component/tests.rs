//! Descriptions: what deploys, what does not, and the published schema.

mod schema;

use serde_json::{Value, json};

use super::*;

/// A source in order, with some properties replaced; `null` removes one.
fn source(changes: Value) -> Value {
    let mut exports = json!({"name": "Feed", "version": "0.0.1", "run": {"$fn": true}});
    for (name, value) in changes.as_object().unwrap() {
        exports[name] = value.clone();
    }
    exports
}

fn action(changes: Value) -> Value {
    let mut exports = source(changes);
    exports["type"] = json!("action");
    exports
}

#[track_caller]
fn check(exports: &Value, expected: &[&str]) {
    let problems = Description::parse(exports).err().unwrap_or_default();
    let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, expected, "{exports} gave {problems:?}");
}

#[test]
fn a_whole_component_is_described() {
    let exports = source(json!({
        "key": "rss-feed", "description": "Reads a feed", "dedupe": "unique", "type": "source",
        "props": {"url": "string", "timer": {"type": "$.interface.timer", "default": {"intervalSeconds": 60}}},
        "methods": {"parse": {"$fn": true}},
        "hooks": {"deploy": {"$fn": true}, "deactivate": {"$fn": true}, "activate": null},
        "sampleEmit": {"anything": "else"},
    }));

    let description = Description::parse(&exports).unwrap();

    assert_eq!(description.name, "Feed");
    assert_eq!(description.kind, Kind::Source);
    assert_eq!(description.hooks, [Hook::Deploy, Hook::Deactivate]);
    assert!(description.has_hook(Hook::Deploy) && !description.has_hook(Hook::Activate));
    assert_eq!(description.methods, ["parse"]);
    assert_eq!(description.dedupe, Some(Strategy::Unique));
    let names: Vec<&str> = description.props.iter().map(|prop| prop.name.as_str()).collect();
    assert_eq!(names, ["url", "timer"]);
    let stored = serde_json::to_value(&description).unwrap();
    assert_eq!(serde_json::from_value::<Description>(stored).unwrap(), description);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    check(&source(json!({})), &[]);
    check(&source(json!({"name": null})), &["name"]);
    check(&source(json!({"name": " "})), &["name"]);
    check(&source(json!({"name": 5})), &["name"]);
    check(&source(json!({"version": null})), &["version"]);
    check(&source(json!({"version": 1})), &["version"]);
    check(&source(json!({"key": ""})), &["key"]);
    check(&source(json!({"run": null})), &["run"]);
    check(&source(json!({"run": "no"})), &["run"]);
    check(&source(json!({"type": "trigger"})), &["type"]);
    check(&source(json!({"type": "app"})), &["type"]);
    check(&source(json!({"props": []})), &["props"]);
    check(&source(json!({"props": {"$fn": true}})), &["props"]);
    check(&source(json!({"methods": {"a": 1, "b": {"$fn": true}}})), &["methods.a"]);
    check(&source(json!({"hooks": {"activated": {"$fn": true}}})), &["hooks.activated"]);
    check(&source(json!({"hooks": {"activate": {}}})), &["hooks.activate"]);
    check(&source(json!({"dedupe": "first"})), &["dedupe"]);
    check(&source(json!({"dedupe": true})), &["dedupe"]);
    check(&json!(null), &[""]);
    check(&json!({"$fn": true}), &[""]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let exports = json!({
        "type": "x", "props": {"a": "strin", "t": {"type": "$.interface.timer", "default": {"cron": "x"}}},
        "hooks": {"oops": {"$fn": true}}, "dedupe": "no", "methods": 5,
    });

    check(
        &exports,
        &["name", "version", "type", "props.a.type", "props.t.default.cron", "methods", "hooks.oops", "dedupe", "run"],
    );
}

#[test]
fn a_timer_source_needs_no_run() {
    let timer = json!({"props": {"timer": "$.interface.timer"}, "run": null});

    let description = Description::parse(&source(timer.clone())).unwrap();

    assert!(!description.has_run);
    check(&action(timer), &["run"]);
}

#[test]
fn what_only_sources_have_is_noted_in_an_action_and_ignored() {
    let plain = Description::parse(&action(json!({"props": {"db": "$.service.db", "a": "string"}}))).unwrap();
    assert_eq!((plain.props.len(), plain.notes), (2, vec![]));

    let more = json!({
        "props": {
            "http": "$.interface.http", "a": "string", "timer": "$.interface.timer", "hook": "$.interface.apphook",
        },
        "hooks": {"deploy": {"$fn": true}, "unknown": 1},
        "dedupe": "whatever",
    });
    let ignored = Description::parse(&action(more)).unwrap();

    let noted: Vec<&str> = ignored.notes.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(noted, ["hooks", "dedupe", "props.http", "props.timer", "props.hook"]);
    let props: Vec<&str> = ignored.props.iter().map(|prop| prop.name.as_str()).collect();
    assert_eq!((props, ignored.hooks, ignored.dedupe), (vec!["a"], vec![], None));
}

#[test]
fn what_an_http_interface_asks_for_is_known_before_a_run() {
    let props = json!({
        "plain": "$.interface.http",
        "answers": {"type": "$.interface.http", "customResponse": true},
        "verifies": {"type": "$.interface.http", "keepEncoding": true},
        "other": {"type": "string", "customResponse": true, "keepEncoding": true},
    });

    let described = Description::parse(&source(json!({"props": props}))).unwrap();

    let flags: Vec<(bool, bool)> =
        described.props.iter().map(|prop| (prop.has_custom_response, prop.keeps_encoding)).collect();
    assert_eq!(flags, [(false, false), (true, false), (false, true), (false, false)]);
}

#[test]
fn http_interfaces_are_bounded_in_number() {
    let props = |count: usize| {
        let props: serde_json::Map<_, _> =
            (0..count).map(|number| (format!("h{number}"), json!("$.interface.http"))).collect();
        source(json!({"props": props}))
    };

    check(&props(parse::HTTP_INTERFACES_MAXIMUM), &[]);
    check(&props(17), &["props"]);
}

#[test]
fn a_published_component_has_a_semantic_version_and_a_key_of_its_app() {
    let github = json!({"github": {"type": "app", "app": "github"}});
    let cases = [
        (json!({"version": "1.0.0", "key": "github-new-commit", "props": github}), vec![]),
        (json!({"version": "1.0.0", "key": "http-new-requests"}), vec![]),
        (json!({"version": "1.0.0", "key": "gitlab-new-commit", "props": github}), vec!["key"]),
        (json!({"version": "1.0.0", "key": "github", "props": github}), vec!["key"]),
        (json!({"version": "1.0.0", "key": "github-New", "props": github}), vec!["key"]),
        (json!({"version": "1.0.0", "key": "nodash"}), vec!["key"]),
        (json!({"version": "v1", "key": null}), vec!["version", "key"]),
    ];

    for (changes, expected) in cases {
        let problems = Description::parse(&source(changes.clone())).unwrap().check_registry().err().unwrap_or_default();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, expected, "{changes}");
    }
}

#[test]
fn semantic_versions_follow_their_grammar() {
    for good in ["0.0.1", "1.2.3-beta.1", "1.0.0+build-5", "1.0.0-a-b.0+x.y", "10.20.30"] {
        assert!(parse::is_semantic_version(good), "{good}");
    }
    for bad in ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3", "1.2.3-a..b"] {
        assert!(!parse::is_semantic_version(bad), "{bad}");
    }
}
