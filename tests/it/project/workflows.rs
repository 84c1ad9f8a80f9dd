//! Workflows in the daily loop: applied from a folder with what they use, and developed with `dev`.

use rig::client::Client;
use rig::served::{DataFolder, KEY};
use serde_json::{Value, json};

use super::Dev;
use crate::cli::Developer;

const SOURCE: &str = "module.exports = {key: 'orders', name: 'Orders', version: '1', props: {http: '$.interface.http'}, run(event) { this.$emit(event.body) }}";

fn say(version: &str, word: &str) -> String {
    format!(
        "module.exports = {{key: 'say', name: 'Say', version: '{version}', type: 'action', \
         props: {{text: 'string', token: {{type: 'string', secret: true}}}}, run() {{ return `{word} ${{this.text}} ${{this.token.length}}` }}}}"
    )
}

const DOCUMENT: &str = "\
settings: { concurrency: 2 }
triggers:
  - { type: source, source: orders }
  - { type: http }
steps:
  - namespace: shape
    file: shape.js
  - namespace: say
    component_key: say
    props: { text: '{{ steps.shape.$return_value }}' }
";

const SHAPE: &str = "export default defineComponent({ run({ steps }) { return steps.trigger.event.n } });";
const TOML: &str = "project = \"p\"\n[workflows.flow.steps.say.props]\ntoken = { secret = \"TOKEN\" }\n";

/// The steps of a plan: name, action, what changes.
fn planned(printed: &Value) -> Vec<(String, String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes =
        |step: &Value| step["changes"].as_array().unwrap().iter().map(|change| text(&change["what"])).collect();
    let steps = printed["steps"].as_array().unwrap().iter();
    steps.map(|step| (text(&step["name"]), text(&step["action"]), changes(step))).collect()
}

#[track_caller]
fn is(printed: &Value, expected: &[(&str, &str, &[&str])]) {
    let steps = planned(printed);
    let steps: Vec<(&str, &str, Vec<&str>)> = steps
        .iter()
        .map(|(name, action, changes)| (name.as_str(), action.as_str(), changes.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<(&str, &str, Vec<&str>)> =
        expected.iter().map(|(name, action, changes)| (*name, *action, changes.to_vec())).collect();
    assert_eq!(steps, expected);
}

fn returned(developer: &Developer) -> Value {
    let run = developer.json(&["workflows", "run", "flow", "--event", "{\"n\": 7}"]);
    run["exports"]["say"]["$return_value"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn workflows_are_applied_with_what_they_use_again_changed_and_pruned() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    developer.file("orders.js", SOURCE);
    developer.file("say.js", &say("1", "said"));
    developer.file("shape.js", SHAPE);
    developer.file("flow.yaml", DOCUMENT);
    developer.file("wellspring.toml", TOML);
    developer.file(".secrets.env", "TOKEN=four");

    is(
        &developer.json(&["apply", "--plan"]),
        &[("orders", "create", &[]), ("say", "publish", &[]), ("flow", "create", &[])],
    );
    developer.json(&["apply", "--yes"]);
    assert_eq!(returned(&developer), "said 7 4");
    let flow = developer.json(&["workflows", "describe", "flow"]);
    assert_eq!((&flow["project"], &flow["version"]), (&json!("p"), &json!(1)));
    let orders = developer.json(&["describe", "orders"]);
    assert_eq!(flow["triggers"][0]["source_id"], orders["id"], "the source is named, and found");
    is(&developer.json(&["apply", "--yes"]), &[("orders", "keep", &[]), ("say", "keep", &[]), ("flow", "keep", &[])]);

    // Each part of a workflow: its settings, a secret, its code, an expression.
    let change = |name: &str, text: &str, what: &[&str]| {
        developer.file(name, text);
        let printed = developer.json(&["apply", "--yes"]);
        is(&printed, &[("orders", "keep", &[]), ("say", "keep", &[]), ("flow", "update", what)]);
    };
    change(".secrets.env", "TOKEN=three", &["steps.say.props.token"]);
    assert_eq!(returned(&developer), "said 7 5");
    change("shape.js", &SHAPE.replace(".n ", ".n + 1 "), &["steps.shape"]);
    assert_eq!(returned(&developer), "said 8 5");
    change("flow.yaml", &DOCUMENT.replace("2 }", "3 }"), &["settings.concurrency"]);
    change(
        "flow.yaml",
        &DOCUMENT.replace("value }}", "value * 2 }}"),
        &["settings.concurrency", "steps.say.props.text"],
    );
    assert_eq!(returned(&developer), "said 16 5");
    change("flow.yaml", DOCUMENT, &["steps.say.props.text"]);
    change(
        "wellspring.toml",
        &TOML.replace("[workflows.flow.", "[workflows.flow]\nactive = false\n[workflows.flow."),
        &["active"],
    );
    change("wellspring.toml", TOML, &["active"]);
    change("flow.yaml", &DOCUMENT.replace("  - { type: http }\n", ""), &["triggers"]);
    change("flow.yaml", &format!("{DOCUMENT}  - namespace: last\n    end: done\n"), &["triggers", "steps.last"]);

    // An action that is published anew reaches the workflow that uses it.
    developer.file("say.js", &say("2", "told"));
    let printed = developer.json(&["apply", "--yes"]);
    is(&printed, &[("orders", "keep", &[]), ("say", "publish", &[]), ("flow", "update", &["steps"])]);
    assert_eq!(returned(&developer), "told 8 5");

    // What is wrong is told before anything is changed.
    developer.file("orders.js", &SOURCE.replace("'1'", "'2'"));
    developer.file("flow.yaml", &DOCUMENT.replace("{{ steps.shape.$return_value }}", "{{ steps. }}"));
    let (code, said) = developer.fail(&["apply", "--yes"]);
    assert!(code == 1 && said.contains("flow: ") && said.contains("nothing was changed"), "{said}");
    developer.file("flow.yaml", &DOCUMENT.replace("source: orders", "source: ordres"));
    let (_, said) = developer.fail(&["apply", "--yes"]);
    assert!(said.contains("there is no source `ordres`") && said.contains("did you mean `orders`"), "{said}");
    assert_eq!(developer.json(&["describe", "orders"])["version"], 1);

    // Only what the project made is pruned.
    developer.file("flow.yaml", DOCUMENT);
    developer.file("orders.js", SOURCE);
    developer.file("kept.yaml", "settings: { name: kept }\nsteps:\n  - namespace: a\n    end: x\n");
    developer.json(&["workflows", "deploy", "kept.yaml"]);
    developer.remove("kept.yaml");
    developer.remove("flow.yaml");
    developer.file("wellspring.toml", "project = \"p\"\nexclude = [\"shape.js\"]\n");
    let (_, said) = developer.fail(&["apply", "--yes"]);
    assert!(said.contains("no longer in the folder: flow; --prune deletes them"), "{said}");
    is(
        &developer.json(&["apply", "--yes", "--prune"]),
        &[("orders", "keep", &[]), ("say", "keep", &[]), ("flow", "delete", &[])],
    );
    let left = developer.json(&["workflows"]);
    assert_eq!(left.as_array().unwrap().iter().map(|workflow| &workflow["name"]).collect::<Vec<_>>(), ["kept"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_deploys_workflows_names_their_lines_and_removes_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join(".wellspring")).unwrap();
    rig::served::write_key(&folder.path().join(".wellspring/encryption.key"));
    write("orders.js", SOURCE);
    write("say.js", &say("1", "said"));
    write("shape.js", &SHAPE.replace("return", "console.log('shaping'); return"));
    let document = format!(
        "{DOCUMENT}  - namespace: emit\n    code: |\n      export default {{ run({{ steps, $ }}) {{ $.send.emit({{raw_event: steps.say.$return_value}}) }} }}\n"
    );
    write("flow.yaml", &document);
    write("wellspring.toml", TOML);
    write(".secrets.env", "TOKEN=four");

    let mut dev = Dev::start(folder.path());
    dev.says("deployed orders as dev-orders").await;
    let orders = dev.says("http: ").await.trim().trim_start_matches("http: ").to_owned();
    dev.says("published say").await;
    let deployed = dev.says("deployed workflow flow as dev-flow, version 1").await;
    assert!(!deployed.contains("shape"), "{deployed}");
    let client = Client::new("", KEY);

    // An event of the source beside it starts it.
    client.trigger(&orders, &json!({"n": 3})).await.unwrap();
    let event = dev.shows("said 3 4").await;
    assert!(event.starts_with("flow ") && event.contains("event"), "{event}");

    // An action that is saved reaches the workflow that uses it.
    write("say.js", &say("2", "told"));
    dev.says("published say").await;
    dev.says("updated workflow flow as dev-flow, version 2").await;
    client.trigger(&orders, &json!({"n": 4})).await.unwrap();
    let lines = dev.shows_all(&["flow  ", "told 4 4", "step   shape", "step   say", "run    event", "shaping"]).await;
    assert!(
        lines.iter().filter(|line| !line.starts_with("orders ")).all(|line| line.starts_with("flow ")),
        "{lines:?}"
    );

    // A step's file is watched, and an error names the real file.
    write("shape.js", "export default {\n  run() { throw new Error('no shape') } };");
    dev.says("updated workflow flow").await;
    client.trigger(&orders, &json!({"n": 5})).await.unwrap();
    let thrown = dev.shows("shape.js:2").await;
    assert!(thrown.contains(&format!("{}/shape.js:2:", folder.path().canonicalize().unwrap().display())), "{thrown}");

    // A mistake is told, and what was deployed stays.
    write("flow.yaml", &document.replace("{{ steps.shape.$return_value }}", "{{ steps. }}"));
    let refused = dev.says("was not deployed").await;
    assert!(refused.contains("flow.yaml") && refused.contains("steps.say.props.text"), "{refused}");

    write("wellspring.toml", "exclude = [\"shape.js\"]\n");
    std::fs::remove_file(folder.path().join("flow.yaml")).unwrap();
    std::fs::remove_file(folder.path().join("shape.js")).unwrap();
    dev.says("removed flow: its file is gone").await;
}
