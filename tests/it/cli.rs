//! The command line against the real server: one journey through everything a developer does.

use std::path::Path;
use std::process::{Command, Stdio};

use rig::served::{DataFolder, KEY, Served, binary};
use rig::wait::within;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

/// A developer: a home of their own, and commands that must succeed.
pub(crate) struct Developer {
    home: tempfile::TempDir,
}

/// What a command prints as it goes on.
pub(crate) struct Following {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

// === impl Following ===

impl Following {
    /// The next line of its data.
    pub(crate) async fn next(&mut self) -> String {
        within("a line", self.lines.next_line()).await.unwrap().expect("the command goes on")
    }
}

// === impl Developer ===

impl Developer {
    pub(crate) fn logged_in(server: &Served) -> Self {
        let developer = Self { home: tempfile::tempdir().unwrap() };
        let mut login = developer.command(&["login", "--url", &server.url]);
        let output = login.env("WELLSPRING_API_KEY", KEY).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        developer
    }

    fn folder(&self) -> &Path {
        self.home.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).env_clear().env("HOME", self.folder()).env("TZ", "UTC").current_dir(self.folder());
        // What the engine compiled for other tests.
        command.env("WELLSPRING_CACHE", std::env::temp_dir().join("wellspring-tests-cache-of-runs"));
        command.stdin(Stdio::null());
        command
    }

    /// What the command printed as data.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// The exit code and what was said.
    pub(crate) fn fail(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.command(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    /// A command that goes on until it is dropped.
    pub(crate) fn follow(&self, arguments: &[&str]) -> Following {
        let mut command = self.command(arguments);
        command.env("WELLSPRING_API_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Following { lines, _child: child }
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.folder().join(name)).unwrap();
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        std::fs::write(self.folder().join(name), text).unwrap();
    }
}

const COUNTER: &str = "const step = require('./step.js');
module.exports = {
  name: 'Counter', version: '0.0.1', dedupe: 'unique',
  props: {db: '$.service.db', word: {type: 'string', options() { return ['a', 'b']; }}, token: {type: 'string', secret: true}},
  async run(event) {
    const count = (this.db.get('count') || 0) + step;
    this.db.set('count', count);
    console.log(`count ${count}`);
    if (event.fail) throw new Error('asked to fail');
    this.$emit({count, word: this.word, token: this.token}, {id: count, summary: `number ${count}`});
  },
};";

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_deployed_run_followed_changed_and_deleted() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    developer.file("counter.js", COUNTER);
    developer.file("step.js", "module.exports = 1;");

    // Here first, without the server, and with the file it requires.
    let local = developer.run(&["run", "./counter.js", "--prop", "word=a", "--prop", "token=t"]);
    let local: Value = serde_json::from_str(&local).unwrap();
    assert_eq!(local["emits"][0]["event"], json!({"count": 1, "word": "a", "token": "t"}), "{local}");
    let (code, said) = developer.fail(&["run", "./counter.js", "--prop", "word=a"]);
    assert_eq!((code, said.contains("values are missing for token")), (2, true), "{said}");
    let id = developer.run(&["deploy", "counter.js", "--prop", "word=a", "--prop", "token=hunter2", "--get", "id"]);
    let ran = developer.json(&["run", &id, "--event", "{}"]);
    assert_eq!(ran["emitted"][0]["event"], json!({"count": 1, "word": "a", "token": "hunter2"}));
    let (code, said) = developer.fail(&["run", "counter", "--event", r#"{"fail": true}"#]);
    assert_eq!((code, said.contains("asked to fail")), (1, true), "{said}");

    // One prop changes; the secret, which the API does not return, stays.
    developer.file("step.js", "module.exports = 10;");
    developer.run(&["update", "counter", "--code", "counter.js", "--prop", "word=b", "--name", "Big counter"]);
    let ran = developer.json(&["run", "big-counter"]);
    assert_eq!(ran["emitted"][0]["event"]["word"], "b");
    assert_eq!(ran["emitted"][0]["event"]["token"], "hunter2");
    assert_eq!(developer.run(&["describe", &id, "--get", "configured_props.token"]), "********");

    let events = developer.run(&["events", "big-counter", "--until", "2"]);
    assert!(events.contains("number 1") && events.lines().count() == 2, "{events}");
    assert!(developer.run(&["logs", "big-counter"]).contains("count 1"));
    let errors = developer.run(&["events", "big-counter", "--stream", "$errors", "--json"]);
    assert!(errors.contains("asked to fail"), "{errors}");

    developer.run(&["update", "big-counter", "--deactivate"]);
    assert_eq!(developer.json(&["list"])[0]["active"], false);
    developer.run(&["delete", "big-counter", "--yes"]);
    assert_eq!(developer.json(&["list"]), json!([]));
    server.stop().await;
}

#[test]
fn a_file_that_is_run_here_tells_the_cause_of_its_error_and_what_a_server_would_reject() {
    let developer = Developer { home: tempfile::tempdir().unwrap() };
    let code = "module.exports = {name: 'x', version: '1', async run() {
  this.$emit(1, {id: {}});
  await fetch('http://127.0.0.1:7717/');
}};";
    developer.file("blocked.js", code);

    let output = developer.command(&["run", "./blocked.js"]).output().unwrap();

    let ran: Value = serde_json::from_slice(&output.stdout).unwrap();
    let thrown = &ran["error"]["thrown"];
    assert_eq!(
        (output.status.code(), &thrown["line"], &thrown["cause"]["code"]),
        (Some(1), &json!(3), &json!("EACCES"))
    );
    let why = thrown["cause"]["message"].as_str().unwrap();
    assert!(why.len() > 20 && thrown["stack"].as_str().unwrap().contains(why), "{ran}");
    assert_eq!(ran["rejected"][0]["reason"], "its id must be a string or a number, and is an object", "{ran}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_init_writes_deploys_and_runs() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);

    for (name, flags) in [
        ("plain", &[][..]),
        ("counted", &["--db"]),
        ("poller", &["--timer", "--db"]),
        ("tick", &["--timer"]),
        ("both", &["--http", "--timer"]),
        ("all", &["--http", "--timer", "--db"]),
        ("typed", &["--ts", "--db"]),
    ] {
        let file = developer.run(&[&["init", "source", name], flags].concat());
        developer.run(&["deploy", &file]);
        let event = r#"{"method": "POST", "path": "/", "body": {"hello": "world"}, "timestamp": 1}"#;
        let ran = developer.json(&["run", name, "--event", event]);
        assert_eq!((&ran["ok"], &ran["emitted_count"]), (&json!(true), &json!(1)), "{name}: {ran}");
    }
    let action = developer.run(&["init", "action", "Shout"]);
    developer.run(&["publish", &action]);
    assert_eq!(developer.run(&["run", "shout", "--prop", "text=hi"]), "\"HI\"");
    // The same file, here and without the server.
    let local: Value = serde_json::from_str(&developer.run(&["run", "./shout.js", "--prop", "text=hi"])).unwrap();
    assert_eq!(local["returned"], "HI", "{local}");
    // The prop is a string here as it is there.
    let local: Value = serde_json::from_str(&developer.run(&["run", "./shout.js", "--prop", "text=5"])).unwrap();
    assert_eq!(local["returned"], "5", "{local}");
    let (code, said) = developer.fail(&["run", "./shout.js", "--prop", "txt=hi"]);
    assert!(code == 2 && said.contains("did you mean `text`?"), "{said}");
    server.stop().await;
}

const TALKER: &str = "module.exports = {
  name: 'Talker', version: '0.0.1', key: 'talker', props: {slack: {type: 'app', app: 'slack'}},
  run({body}) { this.$emit({said: body, token: this.slack.$auth.token}, {name: body}); },
};";

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_connected_channels_are_followed_together_and_a_component_goes_after_its_source() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    server.client().post("/v1/admin/apps", &json!({"name_slug": "slack"})).await.unwrap().data();
    developer.file("talker.js", TALKER);
    developer.file("credentials.json", r#"{"token": "t0ken"}"#);

    let account =
        developer.run(&["accounts", "connect", "slack", "--name", "Work", "--credentials", "credentials.json"]);
    assert_eq!(developer.json(&["accounts"])[0]["id"], account.as_str());
    let component = developer.run(&["publish", "talker.js"]);
    developer.run(&["deploy", "talker", "--prop", "slack=Work"]);
    let mut following = developer.command(&["events", "talker", "--until", "3", "--json"]);
    let following = following.stdout(Stdio::piped()).spawn().unwrap();
    for channel in ["one", "two", "default"] {
        developer.run(&["run", "talker", "--event", &json!({"body": channel}).to_string()]);
    }
    let followed = String::from_utf8(following.wait_with_output().unwrap().stdout).unwrap();
    let events: Vec<Value> = followed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<&str> = events.iter().map(|event| event["event"]["said"].as_str().unwrap()).collect();
    assert_eq!(said, ["one", "two", "default"]);
    assert!(events.iter().all(|event| event["event"]["token"] == "t0ken"));
    let streams = developer.json(&["list", "streams", "talker"]);
    let names: Vec<&str> = streams.as_array().unwrap().iter().map(|one| one["event_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["default", "one", "two", "$errors", "$logs"]);

    let (code, said) = developer.fail(&["components", "delete", "talker", "--yes"]);
    assert_eq!((code, said.contains("is used by talker (dc_")), (1, true), "{said}");
    developer.run(&["delete", &component, "talker", "--yes"]);
    assert_eq!(developer.json(&["components"]), json!([]));
    developer.run(&["accounts", "delete", "Work", "--yes"]);
    assert_eq!(developer.json(&["accounts", "list"]), json!([]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_are_subscribed_listed_and_ended() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    for name in ["from", "to"] {
        let file = developer.run(&["init", "source", name]);
        developer.run(&["deploy", &file]);
    }

    let subscription = developer.run(&["subscribe", "from", "to"]);
    developer.run(&["run", "from", "--event", r#"{"body": {"body": "through"}}"#]);
    let arrived = developer.run(&["events", "to", "--until", "1", "--json"]);
    assert!(arrived.contains("through"), "{arrived}");
    developer.run(&["unsubscribe", &subscription]);
    assert_eq!(developer.json(&["list", "subscriptions"]), json!([]));
    let made = developer.json(&["subscribe", "from", "https://example.com/hook"]);
    assert!(made["webhook"]["signing_secret"].as_str().unwrap().starts_with("whsec_"));
    developer.run(&["webhooks", "delete", "https://example.com/hook"]);
    assert_eq!(developer.json(&["list", "subscriptions"]), json!([]), "the subscriptions go with the webhook");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_dots_and_of_nothing_are_keys_and_null_is_a_value() {
    let place = DataFolder::new();
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    let file = developer.run(&["init", "source", "kept"]);
    developer.run(&["deploy", &file]);
    developer.run(&["data-stores", "create", "shared"]);

    for key in ["kept", "..", ".", "", "a/../b"] {
        for set in [["db", "kept", "set"], ["data-stores", "set", "shared"]] {
            developer.run(&[&set, &[key, "null"] as &[&str]].concat());
        }
    }
    let lists: [&[&str]; 2] = [&["db", "kept", "list"], &["data-stores", "keys", "shared"]];
    assert!(lists.iter().all(|list| developer.json(list).as_array().unwrap().len() == 5));
    for key in ["..", ".", "", "a/../b"] {
        for at in [["db", "kept"], ["data-stores", "shared"]] {
            let [noun, name] = at;
            let with = |verb| if noun == "db" { [noun, name, verb, key] } else { [noun, verb, name, key] };
            assert_eq!(developer.json(&with("get")), Value::Null, "{at:?} {key}");
            developer.run(&with(if noun == "db" { "delete" } else { "remove" }));
        }
    }

    for list in lists {
        let keys = developer.json(list);
        assert_eq!((keys.as_array().unwrap().len(), &keys[0]["key"]), (1, &json!("kept")));
    }
    assert_eq!(developer.json(&["list"])[0]["name"], "kept", "the source is there");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_computes_too_much_says_how_much_that_is_and_what_to_do() {
    let mut place = DataFolder::new();
    place.options.extend(["--fuel-per-run", "100000000"].map(str::to_owned));
    let server = place.start().await;
    let developer = Developer::logged_in(&server);
    developer.file(
        "busy.js",
        "module.exports = {key: 'busy', name: 'Busy', version: '1', props: {http: '$.interface.http'}, run() { for (;;); }}",
    );
    developer.run(&["deploy", "busy.js"]);

    let (code, said) = developer.fail(&["run", "busy"]);

    assert_eq!(code, 1);
    assert!(said.contains("100000000 units of fuel, about 0.1 s of processor time"), "{said}");
    assert!(said.contains("`--fuel-per-run`"), "{said}");
    server.stop().await;
}
