//! Deploying again, the versions of a source, and going back.

use serde_json::{Value, json};

use crate::client::{Machine, check_snapshot};
use crate::fake::Fake;
use crate::world::{COMPONENT, HELLO, account, component, hello, source};

/// A source as a server shows it that keeps versions.
pub(crate) fn running(id: &str, name: &str, key: &str, version: u32) -> Value {
    let mut source = source(id, name, name, json!({"token": "********"}), true);
    source["component_key"] = json!(key);
    source["component_name"] = json!("Hello World");
    source["version"] = json!(version);
    source
}

/// A server with these sources, that takes any component with the key `hello-world`.
pub(crate) fn server_with(sources: &[Value], props: Value) -> Fake {
    let fake = account();
    fake.forget("GET /v1/users/me/sources");
    fake.page("GET /v1/users/me/sources", sources);
    fake.data("POST /v1/components", component(props));
    fake.data("POST /v1/sources", hello());
    fake.text(&format!("DELETE /v1/components/{COMPONENT}"), 204, "text/plain", "");
    fake
}

pub(crate) fn previews(fake: &Fake, id: &str, what: &[&str]) {
    let changes: Vec<Value> = what.iter().map(|what| json!({"what": what, "before": "a", "after": "b"})).collect();
    fake.data(&format!("POST /v1/sources/{id}/preview"), json!({"version": 1, "changes": changes}));
}

fn machine(fake: &Fake) -> Machine {
    let machine = Machine::of(fake);
    machine.file("x.js", "");
    machine
}

#[test]
fn a_second_deploy_updates_the_source_of_the_same_key() {
    let fake = server_with(&[running(HELLO, "hello", "hello-world", 1)], json!([]));
    previews(&fake, HELLO, &["code"]);
    fake.data(&format!("PUT /v1/sources/{HELLO}"), running(HELLO, "hello", "hello-world", 2));

    let ran = machine(&fake).run(&["deploy", "x.js"]).succeeded();

    check_snapshot("deploy-again", &ran.to_text());
    let sent = json!({"component_id": COMPONENT, "active": true});
    assert_eq!(fake.seen(&format!("PUT /v1/sources/{HELLO}"))[0].body, sent);
    assert!(fake.seen("POST /v1/sources").is_empty());
}

#[test]
fn a_deploy_that_changes_nothing_changes_nothing() {
    let fake = server_with(&[running(HELLO, "hello", "hello-world", 3)], json!([]));
    previews(&fake, HELLO, &[]);

    let ran = machine(&fake).run(&["deploy", "x.js"]).succeeded();

    assert!(ran.stderr.contains("hello is up to date, at version 3"), "{}", ran.stderr);
    let component = format!("DELETE /v1/components/{COMPONENT}");
    assert_eq!(fake.changes(), ["POST /v1/components", &format!("POST /v1/sources/{HELLO}/preview"), &component]);
}

#[test]
fn a_new_source_is_made_for_another_name_another_key_and_with_new() {
    let existing = running(HELLO, "hello", "hello-world", 1);
    let other = running(HELLO, "hello", "other-key", 1);
    let mut developed = existing.clone();
    developed["project"] = json!("dev");
    let tries: [(&Value, &[&str]); 4] = [
        (&existing, &["deploy", "x.js", "--name", "Second"]),
        (&existing, &["deploy", "x.js", "--new"]),
        (&other, &["deploy", "x.js"]),
        (&developed, &["deploy", "x.js"]),
    ];
    for (source, arguments) in tries {
        let fake = server_with(std::slice::from_ref(source), json!([]));

        machine(&fake).run(arguments).succeeded();

        assert_eq!(fake.seen("POST /v1/sources").len(), 1, "{arguments:?}");
    }
}

#[test]
fn what_a_script_cannot_decide_is_told() {
    let two = [running(HELLO, "one", "hello-world", 1), running("dc_Second000001", "two", "hello-world", 1)];
    let other = [running(HELLO, "hello", "other-key", 1)];

    let several = machine(&server_with(&two, json!([]))).run(&["deploy", "x.js"]);
    let wrong = machine(&server_with(&other, json!([]))).run(&["deploy", "x.js", "--name", "hello"]);

    check_snapshot("deploy-undecided", &format!("{}{}", several.to_text(), wrong.to_text()));
}

#[test]
fn a_name_that_several_sources_have_updates_none_and_a_slug_the_one_it_is_of() {
    let one = source(HELLO, "Hello", "hello", json!({}), true);
    let mut other = source("dc_Second000001", "hello", "hello-2", json!({}), true);
    other["component_key"] = json!("hello-world");
    let by_slug = server_with(&[other.clone(), one], json!([]));
    previews(&by_slug, HELLO, &["code"]);
    by_slug.data(&format!("PUT /v1/sources/{HELLO}"), hello());
    let twice =
        [source(HELLO, "Same", "same", json!({}), true), source("dc_Second000001", "Same", "same-2", json!({}), true)];

    machine(&by_slug).run(&["deploy", "x.js", "--name", "hello"]).succeeded();
    let fake = server_with(&twice, json!([]));
    let ambiguous = machine(&fake).run(&["deploy", "x.js", "--name", "Same"]);

    assert_eq!(by_slug.seen(&format!("PUT /v1/sources/{HELLO}")).len(), 1);
    let told = format!(
        "error: `Same` is the name of several sources: {HELLO}, dc_Second000001\nhint: use the id or the slug\n"
    );
    assert!(ambiguous.stderr.ends_with(&told), "{}", ambiguous.stderr);
    assert!(fake.changes().iter().all(|line| line.ends_with("/components") || line.starts_with("DELETE /v1/comp")));
}

#[test]
fn props_that_are_given_are_laid_over_those_there_are() {
    let props = json!([
        {"name": "token", "type": "string", "secret": true},
        {"name": "count", "type": "integer", "optional": true},
        {"name": "added", "type": "string"},
    ]);
    let fake = server_with(&[running(HELLO, "hello", "hello-world", 1)], props);
    previews(&fake, HELLO, &["props.count"]);
    fake.data(&format!("PUT /v1/sources/{HELLO}"), running(HELLO, "hello", "hello-world", 2));
    let machine = machine(&fake);

    let missing = machine.run(&["deploy", "x.js"]);
    assert!(missing.stderr.contains("values are missing for added"), "{}", missing.stderr);
    machine.run(&["deploy", "x.js", "--prop", "count=3", "--prop", "added=x"]).succeeded();

    let sent = &fake.seen(&format!("PUT /v1/sources/{HELLO}"))[0].body["configured_props"];
    assert_eq!(*sent, json!({"token": "********", "count": 3, "added": "x"}));
}

fn versions() -> Value {
    let version = |number: u32, digest: &str, word: &str| {
        json!({
            "version": number, "current": number == 3, "component_id": COMPONENT, "component_name": "Hello World",
            "component_version": format!("0.0.{number}"), "digest": format!("{digest}{}", "0".repeat(52)),
            "configured_props": {"word": word}, "created_at": 1_588_866_900,
        })
    };
    json!([version(3, "cccccccccccc", "b"), version(2, "cccccccccccc", "a"), version(1, "aaaaaaaaaaaa", "a")])
}

#[test]
fn history_shows_versions_and_rollback_goes_back() {
    let fake = account();
    fake.data(&format!("GET /v1/sources/{HELLO}/versions"), versions());
    let mut back = hello();
    back["version"] = json!(4);
    fake.data(&format!("POST /v1/sources/{HELLO}/rollback"), back);
    let machine = Machine::of(&fake);

    let history = machine.run(&["history", "hello-world"]).succeeded();
    let before = machine.run(&["rollback", "hello-world"]).succeeded();
    machine.run(&["rollback", "hello-world", "1", "--keep-props"]).succeeded();
    let missing = machine.run(&["rollback", "hello-world", "9"]);
    let current = machine.run(&["rollback", "hello-world", "3"]);

    let texts = [history.to_text(), before.to_text(), missing.to_text(), current.to_text()];
    check_snapshot("history", &texts.concat());
    let sent: Vec<Value> =
        fake.seen(&format!("POST /v1/sources/{HELLO}/rollback")).into_iter().map(|seen| seen.body).collect();
    assert_eq!(sent, [json!({"version": 2}), json!({"version": 1, "keep_props": true})]);
}

#[test]
fn a_source_with_one_version_has_nothing_to_go_back_to() {
    let fake = account();
    let only = versions()[0].clone();
    fake.data(&format!("GET /v1/sources/{HELLO}/versions"), json!([only]));

    let ran = Machine::of(&fake).run(&["rollback", "hello-world"]);

    assert_eq!((ran.code, ran.stderr.lines().next()), (2, Some("error: nothing to change")));
}

/// A folder with a component that is new, one that has changed, one that has not, and one that is gone.
pub(crate) fn shop() -> (Fake, Machine) {
    let of_project = |id: &str, name: &str| {
        let mut source = running(id, name, name, 1);
        source["project"] = json!("shop");
        source
    };
    let sources = [
        of_project("dc_Changed00001", "changed"),
        of_project("dc_Same00000001", "same"),
        of_project("dc_Gone00000001", "gone"),
        running("dc_Elsewhere001", "elsewhere", "elsewhere", 1),
    ];
    let props = json!([{"name": "token", "type": "string", "secret": true, "optional": true}, {"name": "word", "type": "string"}]);
    let fake = server_with(&sources, props);
    previews(&fake, "dc_Changed00001", &["code", "props.word"]);
    previews(&fake, "dc_Same00000001", &[]);
    fake.data("PUT /v1/sources/dc_Changed00001", of_project("dc_Changed00001", "changed"));
    fake.text("DELETE /v1/sources/dc_Gone00000001", 204, "text/plain", "");
    let machine = Machine::of(&fake);
    let file = "project = \"shop\"\n[sources.new]\nprops = { word = \"w\", token = { secret = \"TOKEN\" } }\n[sources.changed]\nprops = { word = \"w\" }\n[sources.same]\nprops = { word = \"w\" }\n";
    machine.file("shop/wellspring.toml", file);
    machine.file("shop/.secrets.env", "TOKEN=s3cret");
    for name in ["new", "changed", "same"] {
        machine.file(&format!("shop/{name}.js"), "");
    }
    (fake, machine)
}

#[test]
fn apply_shows_a_plan_and_changes_nothing_without_a_yes() {
    let (fake, machine) = shop();

    let planned = machine.run(&["apply", "shop", "--plan"]).succeeded();
    let undecided = machine.run(&["apply", "shop"]);

    check_snapshot("apply-plan", &format!("{}{}", planned.to_text(), undecided.to_text()));
    assert_eq!(undecided.code, 2);
    assert!(!planned.to_text().contains("s3cret"));
    assert!(
        fake.changes().iter().all(|line| !line.starts_with("PUT") && line != "POST /v1/sources"),
        "{:?}",
        fake.changes()
    );
    let discarded = fake.seen(&format!("DELETE /v1/components/{COMPONENT}")).len();
    assert_eq!(discarded, 6, "what was linked for the plans");
}

#[test]
fn apply_makes_the_server_match_and_prune_deletes_what_the_folder_made() {
    let (fake, machine) = shop();

    let ran = machine.run(&["apply", "shop", "--yes", "--prune"]).succeeded();

    check_snapshot("apply", &ran.to_text());
    let created = &fake.seen("POST /v1/sources")[0].body;
    assert_eq!(created["configured_props"], json!({"word": "w", "token": "s3cret"}));
    assert_eq!((&created["name"], &created["project"]), (&json!("new"), &json!("shop")));
    let updated = &fake.seen("PUT /v1/sources/dc_Changed00001")[0].body;
    assert_eq!(
        updated["configured_props"],
        json!({"word": "w", "token": "********"}),
        "a secret that is not given stays"
    );
    assert_eq!(fake.seen("DELETE /v1/sources/dc_Gone00000001").len(), 1);
    assert!(fake.seen("DELETE /v1/sources/dc_Elsewhere001").is_empty(), "it is not of this project");
}

#[test]
fn apply_keeps_what_is_gone_unless_told_and_prints_json() {
    let (fake, machine) = shop();

    let ran = machine.run(&["apply", "shop", "--yes", "--json"]).succeeded();

    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let steps: Vec<(&str, &str)> = printed["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["name"].as_str().unwrap(), step["action"].as_str().unwrap()))
        .collect();
    assert_eq!(steps, [("changed", "update"), ("new", "create"), ("same", "keep")]);
    assert_eq!((&printed["applied"], &printed["steps"][1]["source_id"]), (&json!(true), &json!(HELLO)));
    assert!(fake.seen("DELETE /v1/sources/dc_Gone00000001").is_empty());
}

#[test]
fn a_problem_with_one_component_is_told_and_nothing_is_applied() {
    let (fake, machine) = shop();
    machine.file("shop/wellspring.toml", "project = \"shop\"\n[sources.new]\nprops = { wrd = \"w\" }\n[sources.changed]\nprops = { word = \"w\" }\n[sources.same]\nprops = { word = \"w\" }\n");

    let ran = machine.run(&["apply", "shop", "--yes"]);

    check_snapshot("apply-problem", &ran.to_text());
    assert!(
        fake.changes().iter().all(|line| !line.starts_with("PUT") && line != "POST /v1/sources"),
        "{:?}",
        fake.changes()
    );
}

#[test]
fn an_action_is_published_when_its_code_has_changed() {
    let fake = server_with(&[], json!([]));
    let mut action = component(json!([]));
    action["type"] = json!("action");
    action["digest"] = json!("new");
    fake.forget("POST /v1/components");
    fake.data("POST /v1/components", action.clone());
    fake.forget("GET /v1/components/hello-world");
    let mut published = action.clone();
    published["digest"] = json!("old");
    fake.data("GET /v1/components/hello-world", published);
    fake.data("GET /v1/components/hello-world", action);
    let machine = Machine::of(&fake);
    machine.file("actions/say.js", "");

    let first = machine.run(&["apply", "actions", "--yes"]).succeeded();
    let second = machine.run(&["apply", "actions", "--yes"]).succeeded();

    assert!(first.stdout.contains("+ say") && second.stdout.contains("= say"), "{} {}", first.stdout, second.stdout);
    let saved = fake.seen("POST /v1/components");
    let permanent = saved.iter().filter(|seen| seen.body.get("temporary").is_none()).count();
    assert_eq!((saved.len(), permanent), (3, 1));
}
