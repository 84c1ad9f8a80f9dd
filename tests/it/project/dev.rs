//! What `dev` looks at besides the files of its folder, and what it removes.

use std::path::Path;
use std::process::Command;

use rig::served::binary;
use serde_json::Value;

use super::Dev;

fn source(name: &str, run: &str) -> String {
    format!("module.exports = {{name: '{name}', version: '1', props: {{http: '$.interface.http'}}, run() {{ {run} }}}}")
}

fn folder_in(place: &Path, name: &str) -> std::path::PathBuf {
    let folder = place.join(name);
    std::fs::create_dir_all(folder.join(".wellspring")).unwrap();
    rig::served::write_key(&folder.join(".wellspring/encryption.key"));
    folder
}

/// A command in another terminal of the folder, which finds the server of `dev` by itself.
fn command(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(binary());
    command.args(arguments).arg("--json").env_clear().env("HOME", folder).current_dir(folder);
    let output = command.output().unwrap();
    let shown = || panic!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| shown())
}

fn sources(folder: &Path) -> Vec<String> {
    let listed = command(folder, &["list"]);
    let listed = listed.as_array().unwrap().iter();
    let mut names: Vec<String> = listed.map(|source| source["name"].as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_goes_when_its_file_is_an_action_or_was_removed_while_dev_did_not_run() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder_in(place.path(), "shop");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    for name in ["turns", "stays", "goes"] {
        write(&format!("{name}.js"), &source(name, ""));
    }
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    write("elsewhere/hand.js", &source("hand", ""));

    let mut dev = Dev::start(&folder);
    dev.says("deployed turns as dev-turns").await;
    command(&folder, &["deploy", "elsewhere/hand.js", "--name", "dev-hand"]);
    assert_eq!(sources(&folder), ["dev-goes", "dev-hand", "dev-stays", "dev-turns"]);
    write("turns.js", "module.exports = {key: 'turns', name: 'turns', version: '1', type: 'action', run() {}}");
    dev.says("published turns").await;
    dev.says("removed turns: its file is an action now").await;
    dev.end().await;

    std::fs::remove_file(folder.join("goes.js")).unwrap();
    let mut dev = Dev::start(&folder);
    dev.says("updated stays as dev-stays").await;
    dev.says("removed goes: its file is gone").await;
    assert_eq!(sources(&folder), ["dev-hand", "dev-stays"], "what was not made by `dev` is left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_and_files_outside_of_the_folder_count_and_what_failed_is_tried_again() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder_in(place.path(), "shop");
    let shared = place.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let share = |text: &str| std::fs::write(shared.join("word.js"), text).unwrap();
    share("module.exports = 'first'");
    write("wellspring.toml", "[sources.a.props]\ntoken = { secret = \"T\" }\n");
    write(
        "a.js",
        "const word = require('../shared/word');\nmodule.exports = {name: 'a', version: '1', props: {token: 'string'}, run() { this.$emit([word, this.token]) }}",
    );

    let mut dev = Dev::start(&folder);
    dev.says("a.js was not deployed: there is no secret T").await;
    write(".secrets.env", "T=one\n");
    dev.says("deployed a as dev-a").await;
    write(".secrets.env", "T=two\n");
    dev.says("updated a as dev-a").await;
    assert_eq!(command(&folder, &["run", "dev-a"])["emitted"][0]["event"], serde_json::json!(["first", "two"]));
    share("module.exports = 'second'");
    dev.says("updated a as dev-a").await;
    assert_eq!(command(&folder, &["run", "dev-a"])["emitted"][0]["event"], serde_json::json!(["second", "two"]));
}
