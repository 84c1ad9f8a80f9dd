//! From a file to a source: what is collected, what is sent, what is asked.

use serde_json::{Value, json};

use crate::client::{Machine, check_snapshot};
use crate::fake::Fake;
use crate::world::{COMPONENT, account, component, hello};

/// A server that takes any component and says it has these props.
fn server_with(props: Value) -> Fake {
    let fake = account();
    fake.data("POST /v1/components", component(props));
    fake.data("POST /v1/sources", hello());
    fake.page(
        "GET /v1/users/me/accounts",
        &[
            json!({"id": "apn_Work00000001", "app": "slack", "name": "Work", "created_at": 1, "updated_at": 1}),
            json!({"id": "apn_Else00000001", "app": "github", "name": "Elsewhere", "created_at": 1, "updated_at": 1}),
        ],
    );
    fake
}

fn sent_props(fake: &Fake) -> Value {
    fake.seen("POST /v1/sources").last().unwrap().body["configured_props"].clone()
}

#[test]
fn a_file_is_deployed_with_what_it_requires() {
    let fake = server_with(json!([{"name": "http", "type": "$.interface.http"}]));
    let machine = Machine::of(&fake);
    machine.file("sources/new/new.mjs", "import app from \"../../app.js\";\nimport './helper';\nexport default {};");
    machine.file("sources/new/helper.js", "require('./data.json'); require(\"axios\"); require('./missing')");
    machine.file("sources/new/data.json", "{}");
    machine.file("app.js", "module.exports = {}");

    let ran = machine.run(&["deploy", "sources/new/new.mjs", "--name", "Mine"]).succeeded();

    check_snapshot("deploy", &ran.to_text());
    let sent = &fake.seen("POST /v1/components")[0].body;
    assert_eq!(sent["filename"], "new.mjs");
    let files: Vec<&String> = sent["component_files"].as_object().unwrap().keys().collect();
    assert_eq!(files, ["../../app.js", "data.json", "helper.js"]);
    let body = &fake.seen("POST /v1/sources")[0].body;
    assert_eq!(*body, json!({"component_id": COMPONENT, "configured_props": {}, "name": "Mine"}));
}

#[test]
fn components_are_deployed_by_id_key_and_address() {
    let fake = server_with(json!([]));
    let mut with_packages = component(json!([]));
    with_packages["dependencies"] = json!([{"name": "axios", "version": "1.7.2"}, {"name": "qs", "version": "6.0.0"}]);
    with_packages["warnings"] = json!(["/component/x.js draws random values"]);
    fake.forget("POST /v1/components");
    fake.data("POST /v1/components", with_packages);
    fake.data("GET /v1/components/no-props", component(json!([])));
    let machine = Machine::of(&fake);

    machine.run(&["deploy", "no-props"]).succeeded();
    assert!(fake.seen("POST /v1/components").is_empty());
    let ran = machine.run(&["deploy", "https://example.com/x.js"]).succeeded();

    assert!(ran.stderr.contains("linked Hello World 0.0.1 with 2 packages as sc_Hello0000001"), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: /component/x.js draws random values"), "{}", ran.stderr);
    let sent = json!({"component_url": "https://example.com/x.js", "temporary": true});
    assert_eq!(fake.seen("POST /v1/components")[0].body, sent);
    assert_eq!(fake.seen("POST /v1/sources").len(), 2);
}

#[test]
fn a_component_of_the_registry_is_found_after_ones_own() {
    let fake = server_with(json!([]));
    fake.data("GET /v1/components/registry/demo-hi", component(json!([])));

    Machine::of(&fake).run(&["deploy", "demo-hi"]).succeeded();

    assert_eq!(fake.seen("POST /v1/sources")[0].body["component_id"], COMPONENT);
}

#[test]
fn values_get_the_types_the_component_declares() {
    let fake = server_with(json!([
        {"name": "text", "type": "string"},
        {"name": "count", "type": "integer"},
        {"name": "flag", "type": "boolean"},
        {"name": "tags", "type": "string[]"},
        {"name": "numbers", "type": "integer[]"},
        {"name": "object", "type": "object"},
        {"name": "timer", "type": "$.interface.timer"},
        {"name": "slack", "type": "app", "app": "slack"},
        {"name": "from_file", "type": "string"},
    ]));
    let machine = Machine::of(&fake);
    machine.file("x.js", "");
    machine.file("props.json", r#"{"from_file": "kept", "text": "overridden"}"#);
    let props = [
        "text=12",
        "count=3",
        "flag=yes",
        "tags=a",
        "tags=b",
        "numbers=[1,2]",
        "object={\"a\":1}",
        "timer=15m",
        "slack=Work",
    ];
    let flags: Vec<&str> = props.iter().flat_map(|prop| ["--prop", prop]).collect();

    machine.run(&[&["deploy", "x.js", "--props", "props.json"][..], &flags].concat()).succeeded();

    let expected = json!({
        "from_file": "kept", "text": "12", "count": 3, "flag": true, "tags": ["a", "b"], "numbers": [1, 2], "object": {"a": 1},
        "timer": {"intervalSeconds": 900}, "slack": {"authProvisionId": "apn_Work00000001"},
    });
    assert_eq!(sent_props(&fake), expected);
}

#[test]
fn a_script_is_told_what_is_missing_or_wrong() {
    let fake = server_with(json!([
        {"name": "token", "type": "string", "secret": true},
        {"name": "every", "type": "$.interface.timer"},
        {"name": "count", "type": "integer", "min": 1, "max": 9, "default": 5},
        {"name": "slack", "type": "app", "app": "slack", "optional": true},
    ]));
    let machine = Machine::of(&fake);
    machine.file("x.js", "");
    let tries: [&[&str]; 7] = [
        &[],
        &["--prop", "tokn=x"],
        &["--prop", "token"],
        &["--prop", "count=10"],
        &["--prop", "count=many"],
        &["--prop", "every=soon"],
        &["--prop", "token=x", "--prop", "every=1h", "--prop", "slack=Elsewhere"],
    ];

    let texts = tries.map(|flags| {
        let ran = machine.run(&[&["deploy", "x.js"], flags].concat());
        format!("$ deploy x.js {}\n{}", flags.join(" "), ran.to_text())
    });

    check_snapshot("deploy-props", &texts.concat());
    assert!(fake.seen("POST /v1/sources").is_empty());
}

#[test]
fn a_deploy_prints_one_field_or_json_for_scripts() {
    let fake = server_with(json!([]));
    let machine = Machine::of(&fake);
    machine.file("x.js", "");

    let endpoint = machine.run(&["deploy", "x.js", "--get", "endpoint"]).succeeded().stdout;
    let whole = machine.run(&["deploy", "x.js", "--json"]).succeeded();

    assert_eq!(endpoint, "https://wells.example/e/Kq3v8ZzT1mN0pR5sX7yB2c\n");
    assert_eq!(serde_json::from_str::<Value>(&whole.stdout).unwrap(), hello());
    assert_eq!(whole.stderr, "");
}

#[test]
fn a_hook_that_throws_is_shown_with_its_stack() {
    let fake = account();
    fake.data("POST /v1/components", component(json!([])));
    fake.json("POST /v1/sources", 422, json!({
        "error": "the activate hook failed: Error: no such repository", "code": "hook_failed",
        "details": {"hook": "activate", "fault": "threw", "stack": "Error: no such repository\n    at activate (x.js:9:13)\n"},
    }));
    let machine = Machine::of(&fake);
    machine.file("x.js", "");

    check_snapshot("deploy-hook-failed", &machine.run(&["deploy", "x.js"]).to_text());
}

#[test]
fn an_action_is_not_deployed() {
    let fake = account();
    let mut action = component(json!([]));
    action["type"] = json!("action");
    fake.data("POST /v1/components", action);
    let machine = Machine::of(&fake);
    machine.file("x.js", "");

    check_snapshot("deploy-action", &machine.run(&["deploy", "x.js"]).to_text());
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let ran = Machine::of(&account()).run(&["deploy", "./nothing.js"]);

    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (1, "error: cannot read ./nothing.js: No such file or directory (os error 2)\n")
    );
}

#[test]
fn a_deploy_is_followed_until_its_answer() {
    let fake = account();
    fake.forget("POST /v1/components");
    let report = json!({"stage": "downloading", "packages": 1, "of": 2, "bytes": 9});
    let progress = format!("event: progress\ndata: {report}\n\n");
    let answer = |status: u16, body: Value| {
        let answered = json!({"status": status, "body": body});
        format!("{progress}event: answer\ndata: {answered}\n\n")
    };
    let saved = answer(200, json!({"data": component(json!([]))}));
    let refused = answer(422, json!({"error": "there is no package nope", "code": "package_not_found"}));
    for text in [&saved, &refused, &progress] {
        fake.text("POST /v1/components", 200, "text/event-stream", text);
    }
    fake.data("POST /v1/sources", hello());
    let machine = Machine::of(&fake);
    machine.file("x.js", "");

    let [done, refused, broken] = [(), (), ()].map(|()| machine.run(&["deploy", "x.js"]));

    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(refused.stderr.ends_with("error: there is no package nope\n"), "{}", refused.stderr);
    assert_eq!((refused.code, broken.code), (1, 1));
    assert!(broken.stderr.contains("the connection broke off"), "{}", broken.stderr);
}
