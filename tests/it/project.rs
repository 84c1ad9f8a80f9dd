//! The daily loop with the real binary: deploying again, versions, applying a folder, tests in the sandbox, and `dev`.

mod dev;
mod run;
mod terminal;
mod workflows;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rig::client::Client;
use rig::served::{DataFolder, KEY, binary};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout};

use crate::cli::Developer;
use crate::generated::root;

fn greeter(version: &str, word: &str) -> String {
    format!(
        "module.exports = {{key: 'greeter', name: 'Greeter', version: '{version}', \
         props: {{http: '$.interface.http', name: {{type: 'string', default: 'you'}}, token: {{type: 'string', secret: true, optional: true}}}}, \
         run() {{ this.$emit({{text: `{word} ${{this.name}}`, token: this.token}}) }}}}"
    )
}

fn emitted(developer: &Developer, source: &str) -> Value {
    developer.json(&["run", source])["emitted"][0]["event"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_is_repeated_updated_and_rolled_back() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    developer.file("greeter.js", &greeter("0.0.1", "hello"));

    let first = developer.json(&["deploy", "greeter.js", "--prop", "token=s3cret"]);
    let again = developer.json(&["deploy", "greeter.js"]);
    developer.file("greeter.js", &greeter("0.0.2", "good day"));
    let updated = developer.json(&["deploy", "greeter.js", "--prop", "name=Ada"]);

    assert_eq!((&again["id"], &again["version"]), (&first["id"], &json!(1)), "the same source, unchanged");
    assert_eq!((&updated["id"], &updated["version"]), (&first["id"], &json!(2)));
    assert_eq!(updated["configured_props"]["http"], first["configured_props"]["http"], "the endpoint stays");
    assert_eq!(emitted(&developer, "greeter"), json!({"text": "good day Ada", "token": "s3cret"}));
    let history = developer.json(&["history", "greeter"]);
    assert_eq!((&history[0]["version"], &history[1]["component_version"]), (&json!(2), &json!("0.0.1")));
    let components = developer.json(&["list", "components"]).as_array().unwrap().len();

    let back = developer.json(&["rollback", "greeter"]);
    assert_eq!(back["version"], 3);
    assert_eq!(emitted(&developer, "greeter"), json!({"text": "hello you", "token": "s3cret"}));
    developer.json(&["rollback", "greeter", "2", "--keep-props"]);
    assert_eq!(emitted(&developer, "greeter"), json!({"text": "good day you", "token": "s3cret"}));
    assert_eq!(developer.json(&["list", "components"]).as_array().unwrap().len(), components, "no copies are made");
    server.stop().await;

    // What can be gone back to survives a restart.
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    assert_eq!(developer.json(&["rollback", "greeter", "1"])["version"], 5);
    assert_eq!(emitted(&developer, "greeter"), json!({"text": "hello you", "token": "s3cret"}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_applied_again_changed_and_pruned() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    let steps = |arguments: &[&str]| -> Vec<(String, String)> {
        let printed = developer.json(&[&["apply", "--yes"], arguments].concat());
        let step =
            |step: &Value| (step["name"].as_str().unwrap().to_owned(), step["action"].as_str().unwrap().to_owned());
        printed["steps"].as_array().unwrap().iter().map(step).collect()
    };
    let is = |steps: Vec<(String, String)>, expected: &[(&str, &str)]| {
        let steps: Vec<(&str, &str)> = steps.iter().map(|(name, action)| (name.as_str(), action.as_str())).collect();
        assert_eq!(steps, expected);
    };
    developer.file("greeter.js", &greeter("0.0.1", "hello"));
    developer.file(
        "say.js",
        "module.exports = {key: 'say', name: 'Say', version: '1', type: 'action', run() { return 'said' }}",
    );
    developer.file("wellspring.toml", "project = \"p\"\n[sources.greeter.props]\nname = \"Ada\"\ntoken = { secret = \"T\" }\n[sources.twin]\ncode = \"greeter.js\"\nactive = false\n");
    developer.file(".secrets.env", "T=first");

    is(steps(&[]), &[("greeter", "create"), ("say", "publish"), ("twin", "create")]);
    assert_eq!(emitted(&developer, "greeter"), json!({"text": "hello Ada", "token": "first"}));
    assert_eq!(developer.json(&["describe", "twin"])["active"], false);
    assert_eq!(developer.json(&["run", "say"])["return_value"], "said");
    is(steps(&[]), &[("greeter", "keep"), ("say", "keep"), ("twin", "keep")]);

    developer.file(".secrets.env", "T=second");
    let planned = developer.json(&["apply", "--plan"]);
    assert_eq!(
        planned["steps"][0]["changes"],
        json!([{"what": "props.token", "before": "********", "after": "********"}])
    );
    is(steps(&[]), &[("greeter", "update"), ("say", "keep"), ("twin", "keep")]);
    assert_eq!(emitted(&developer, "greeter")["token"], "second");

    developer.file("wellspring.toml", "project = \"p\"\n");
    developer.run(&["deploy", "greeter.js", "--name", "other"]);
    is(steps(&[]), &[("greeter", "update"), ("say", "keep")]);
    is(steps(&["--prune"]), &[("greeter", "keep"), ("say", "keep"), ("twin", "delete")]);
    let left = developer.json(&["list"]);
    let mut left: Vec<&str> = left.as_array().unwrap().iter().map(|source| source["name"].as_str().unwrap()).collect();
    left.sort_unstable();
    assert_eq!(left, ["greeter", "other"], "what another hand deployed is left alone");
    let (code, said) = developer.fail(&["apply"]);
    assert_eq!(code, 0, "nothing to do needs no confirmation: {said}");
    server.stop().await;
}

/// How `wellspring test` ended, and what it printed.
fn test(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(binary());
    let home = tempfile::tempdir().unwrap();
    command.arg("test").args(arguments).env_clear().env("HOME", home.path()).current_dir(folder);
    command.env("WELLSPRING_CACHE", std::env::temp_dir().join("wellspring-tests-cache-of-runs"));
    let output = command.output().unwrap();
    (output.status.success(), [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat())
}

#[test]
fn all_examples_pass_their_tests_in_the_sandbox() {
    let (passed, printed) = test(&root(), &["examples"]);

    assert!(passed, "{printed}");
    assert!(printed.lines().filter(|line| line.starts_with("  ok ")).count() >= 40, "{printed}");
}

#[test]
fn a_test_that_fails_names_its_line_and_fails_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "a.js",
        "module.exports = {name: 'a', version: '1', props: {n: 'integer'}, run() { console.log('seen'); this.$emit(this.n) }}",
    );
    write(
        "a.test.js",
        "const assert = require('assert');\ntest('right', async ({run}) => assert.equal((await run({props: {n: 1}})).emits[0].event, 1));\ntest('wrong', async () => assert.equal((await run({props: {n: 1}})).emits[0].event, 2));\ntest('unfit', async () => run({props: {n: 'x'}}));\ntest('outside', async () => fetch('https://example.com/'));\n",
    );
    write("broken.test.js", "syntax error");

    let (passed, printed) = test(folder.path(), &[]);
    let (filtered, only) = test(folder.path(), &["--filter", "right"]);

    assert!(!passed, "{printed}");
    assert!(printed.contains("  ok    right") && printed.contains("  FAIL  wrong"), "{printed}");
    assert!(printed.contains("a.test.js:3"), "{printed}");
    assert!(
        printed.contains("the props do not fit the component") && printed.contains("a test makes no requests itself"),
        "{printed}"
    );
    assert!(
        printed.contains("FAIL  broken.test.js") && printed.ends_with("5 tests: 1 passed, 4 failed\n"),
        "{printed}"
    );
    assert!(
        !filtered && only.contains("2 tests: 1 passed, 1 failed"),
        "a file that does not load fails all the same: {only}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_recorded_once_and_played_back_without_secrets() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    developer.file("api.js", "module.exports = {name: 'Api', version: '1', props: {http: {type: '$.interface.http', customResponse: true}}, run(event) { this.http.respond({status: 200, body: {path: event.path, token: event.headers['x-token'], query: event.query, basic: event.headers.authorization}}) }}");
    let url = developer.run(&["deploy", "api.js", "--get", "endpoint"]);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "asks.js",
        &format!(
            "module.exports = {{name: 'asks', version: '1', props: {{api: {{type: 'app', app: 'api'}}}}, async run() {{ const {{ token }} = this.api.$auth; const response = await fetch('{url}/items?q=' + encodeURIComponent(token), {{headers: {{'x-token': token, authorization: 'Basic ' + btoa('user:' + token)}}}}); this.$emit(await response.json()) }}}}"
        ),
    );
    write(
        "asks.test.js",
        "const assert = require('assert');\ntest('asks once', async () => { const {emits, error} = await run({auth: {api: {token: 'very/secret \"token\"'}}}); assert.equal(error, null); assert.equal(emits[0].event.path, '/items'); });\n",
    );

    let (without, said) = test(folder.path(), &[]);
    let (recorded, told) = test(folder.path(), &["--record", "--dangerous-allow-private-networks"]);
    server.stop().await;
    let (played, printed) = test(folder.path(), &[]);

    assert!(!without && said.contains("there is no fixture for GET"), "{said}");
    assert!(recorded, "{told}");
    assert!(played, "the server is gone: {printed}");
    let fixture = std::fs::read_to_string(folder.path().join("fixtures/asks/asks-once.json")).unwrap();
    assert!(fixture.contains("<api.token>") && !fixture.contains("secret"), "{fixture}");
    assert!(!fixture.contains(&STANDARD.encode("user:very/secret")[8..18]), "{fixture}");
}

#[test]
fn a_file_is_run_with_state_an_account_and_a_hook() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "c.js",
        "module.exports = {name: 'c', version: '1', props: {db: '$.service.db', slack: {type: 'app', app: 'slack'}}, hooks: {activate() { this.db.set('active', true) }}, run() { const n = (this.db.get('n') ?? 0) + 1; this.db.set('n', n); this.$emit({n, token: this.slack.$auth.token}) }}",
    );
    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command
            .args(["run", "./c.js"])
            .args(arguments)
            .env_clear()
            .env("HOME", folder.path())
            .current_dir(folder.path());
        let output = command
            .env("WELLSPRING_CACHE", std::env::temp_dir().join("wellspring-tests-cache-of-runs"))
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let auth = "slack={\"token\": \"t\"}";

    let (code, _, said) = run(&["--db", "state.json", "--auth", auth]);
    assert_eq!(code, 0, "{said}");
    let (_, second, _) = run(&["--db", "state.json", "--auth", auth]);
    let (_, hook, _) = run(&["--db", "state.json", "--hook", "activate"]);
    let wrong = run(&["--auth", "github={}"]);

    let second: Value = serde_json::from_str(&second).unwrap();
    assert_eq!(second["emits"][0]["event"], json!({"n": 2, "token": "t"}));
    assert!(hook.contains("\"ok\": true"), "{hook}");
    let state: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("state.json")).unwrap()).unwrap();
    assert_eq!(state, json!({"active": true, "n": 2}));
    assert_eq!(wrong.0, 2, "{}", wrong.2);
    assert!(wrong.2.contains("the component has no app prop of this name"), "{}", wrong.2);
}

/// `wellspring dev` in a folder, and what it prints.
struct Dev {
    child: Child,
    talk: Lines<BufReader<ChildStderr>>,
    shown: Lines<BufReader<ChildStdout>>,
}

/// A machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

impl Dev {
    fn start(folder: &Path) -> Self {
        let mut child = tokio::process::Command::new(binary())
            .args(["dev", "--listen", "127.0.0.1:0"])
            .current_dir(folder)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let talk = BufReader::new(child.stderr.take().unwrap()).lines();
        let shown = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, talk, shown }
    }

    async fn end(mut self) {
        self.child.kill().await.unwrap();
    }

    /// The first line of talk that holds this.
    async fn says(&mut self, part: &str) -> String {
        let found = async {
            let mut said = Vec::new();
            while let Ok(Some(line)) = self.talk.next_line().await {
                if line.contains(part) {
                    return line;
                }
                said.push(line);
            }
            panic!("{part} was never said: {said:?}");
        };
        tokio::time::timeout(PATIENCE, found).await.expect(part)
    }

    /// All lines up to the one after which each part was shown.
    async fn shows_all(&mut self, parts: &[&str]) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let found = async {
            while !parts.iter().all(|part| lines.iter().any(|line| line.contains(part))) {
                match self.shown.next_line().await {
                    Ok(Some(line)) => lines.push(line),
                    _ => panic!("{parts:?} were not all shown: {lines:?}"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("all parts are shown");
        lines
    }

    async fn shows(&mut self, part: &str) -> String {
        let found = async {
            while let Ok(Some(line)) = self.shown.next_line().await {
                if line.contains(part) {
                    return line;
                }
            }
            panic!("{part} was never shown");
        };
        tokio::time::timeout(PATIENCE, found).await.expect(part)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_runs_a_folder_names_every_line_and_removes_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join(".wellspring")).unwrap();
    rig::served::write_key(&folder.path().join(".wellspring/encryption.key"));
    let source = |name: &str, run: &str| {
        format!(
            "module.exports = {{name: '{name}', version: '1', props: {{http: '$.interface.http', word: 'string'}}, run(event) {{\n  {run}\n}}}}"
        )
    };
    write(
        "wellspring.toml",
        "[profiles.dev.sources.greet]\nprops = { word = \"hi\" }\n[sources.other]\nprops = { word = \"x\" }\n",
    );
    write("greet.js", &source("greet", "this.$emit(this.word)"));
    write("other.js", &source("other", "throw new Error('no')"));
    write("say.js", "module.exports = {key: 'say', name: 'Say', version: '1', type: 'action', run() { return 1 }}");

    let mut dev = Dev::start(folder.path());
    dev.says("deployed greet as dev-greet").await;
    let greet = dev.says("http: ").await.trim().trim_start_matches("http: ").to_owned();
    dev.says("deployed other as dev-other").await;
    let other = dev.says("http: ").await.trim().trim_start_matches("http: ").to_owned();
    dev.says("published say").await;
    let client = Client::new("", KEY);
    client.trigger(&greet, &json!({})).await.unwrap();
    let event = dev.shows("event").await;
    client.trigger(&other, &json!({})).await.unwrap();
    let frame = dev.shows("other.js:2").await;

    assert!(event.starts_with("greet ") && event.contains("\"hi\""), "{event}");
    assert!(frame.contains(&format!("{}/other.js:2:", folder.path().canonicalize().unwrap().display())), "{frame}");
    // Another terminal finds the server without a login.
    let elsewhere = Command::new(binary())
        .args(["list", "--json"])
        .env_clear()
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&elsewhere.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&elsewhere.stderr)));
    assert_eq!(listed.as_array().unwrap().len(), 2);
    std::fs::remove_file(folder.path().join("other.js")).unwrap();
    write("wellspring.toml", "[profiles.dev.sources.greet]\nprops = { word = \"bye\" }\n");
    dev.says("updated greet").await;
    dev.says("removed other").await;
    client.trigger(&greet, &json!({})).await.unwrap();
    dev.shows("\"bye\"").await;
    write("greet.js", "module.exports = {\n  name: 'greet',\n  version: !\n}");
    dev.says("was not deployed").await;
    let place = dev.says("greet.js:").await;
    let marked = dev.says(">").await;
    assert!(place.contains("greet.js:4:1") || place.contains("greet.js:3:"), "{place}");
    assert!(marked.contains("|"), "{marked}");
}
