//! Bad days of the real binary: each ends with a clear message and an exit code, or is lived through, and nothing that
//! was answered is lost.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use rig::client::Client;
use rig::served::{DataFolder, Served, binary};
use serde_json::{Value, json};

/// The user id of `nobody`, under which a server runs when the tests run as root.
const UNPRIVILEGED: u32 = 65_534;

/// `wellspring` with these arguments, to its end.
pub(crate) fn wellspring(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    // A server that starts after all must not hang the test.
    let mut command = Command::new("timeout");
    command.arg("60").arg(binary()).args(arguments).env_remove("WELLSPRING_API_KEY").env("NO_COLOR", "1");
    command
}

#[track_caller]
pub(crate) fn refused(output: &Output, code: i32, says: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in says {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A source that emits what it receives.
pub(crate) async fn deploy(client: &Client) -> Value {
    let code = "module.exports = {name: 'echo', version: '1', props: {http: '$.interface.http'}, \
                run(event) { this.$emit(event.body) }}";
    client.post("/v1/sources", &json!({"component_code": code})).await.unwrap().data()
}

#[test]
fn a_port_that_is_taken_is_told_with_the_option_that_helps() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();

    let output = wellspring(&["serve", "--data", text(folder.path()), "--listen", &address]);

    refused(&output, 1, &[&format!("cannot listen at {address}"), "--listen"]);
}

#[test]
fn settings_that_are_wrong_are_a_matter_of_usage() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wellspring.toml");
    for (settings, says) in [
        ("keep_events = ", "line 1"),
        ("keep_event = 1", "unknown field `keep_event`"),
        ("keep_events = 0", "`keep_events` must be at least 1"),
        ("listen = \"nowhere\"", "listen"),
        ("trusted_proxy = [\"proxy\"]", "a trusted proxy is an address or a network"),
    ] {
        std::fs::write(&file, settings).unwrap();
        let output = wellspring(&["serve", "--config", text(&file), "--data", text(&folder.path().join("data"))]);
        refused(&output, 2, &[says]);
    }
    refused(&wellspring(&["serve", "--config", "/nowhere.toml"]), 2, &["/nowhere.toml", "No such file"]);
    refused(&wellspring(&["serve", "--keep-events", "many"]), 2, &["--keep-events"]);
    assert!(!folder.path().join("data").exists(), "nothing is made before the settings are understood");
}

#[test]
fn the_settings_that_count_are_printed_and_flags_win_over_the_environment_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wellspring.toml");
    std::fs::write(&file, "keep_events = 1\nkeep_logs = 1\nbody_bytes = 1\n").unwrap();
    let arguments = ["serve", "--print-config", "--keep-events", "3", "--config", text(&file)];

    let output =
        command(&arguments).env("WELLSPRING_KEEP_EVENTS", "2").env("WELLSPRING_KEEP_LOGS", "2").output().unwrap();

    let printed = String::from_utf8(output.stdout).unwrap();
    for line in ["keep_events = 3", "keep_logs = 2", "body_bytes = 1", "event_bytes = 524294"] {
        assert!(printed.lines().any(|printed| printed == line), "{line} is not in\n{printed}");
    }
}

#[test]
fn a_redis_that_is_not_there_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = "redis://user:s3cret@127.0.0.1:1";

    let output = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", text(folder.path()), "--store", store]);

    refused(&output, 1, &["cannot use the store at redis://…@127.0.0.1:1"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("s3cret"));
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused() {
    let place = DataFolder::new();
    let _first = place.start().await;

    let output = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", text(&place.data())]);

    refused(&output, 1, &["another server uses the folder", "give this one its own with --data"]);
}

#[tokio::test]
async fn another_encryption_key_is_refused_and_the_right_one_finds_everything() {
    let place = DataFolder::new();
    let served = place.start().await;
    let source = deploy(&served.client()).await;
    served.stop().await;
    let key = place.data().join("encryption.key");
    let right = std::fs::read_to_string(&key).unwrap();

    std::fs::write(&key, "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n").unwrap();
    let other = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", text(&place.data())]);
    std::fs::write(&key, "not a key").unwrap();
    let malformed = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", text(&place.data())]);
    std::fs::write(&key, right).unwrap();

    refused(&other, 1, &["is the encryption key the one it was made with?"]);
    refused(&malformed, 1, &["an encryption key is 32 bytes in base64"]);
    let served = place.start().await;
    let found = served.client().get(&format!("/v1/sources/{}", source["id"].as_str().unwrap())).await.unwrap();
    assert_eq!(found.data()["name"], "echo");
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_left_alone() {
    let place = DataFolder::new();
    place.start().await.stop().await;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store.db");
    let copied = wellspring(&["backup", text(&store), "--data", text(&place.data())]);
    assert!(copied.status.success());
    let mut bytes = std::fs::read(&store).unwrap();
    // Where SQLite keeps `user_version`.
    bytes[60..64].copy_from_slice(&1000_u32.to_be_bytes());
    std::fs::write(&store, &bytes).unwrap();

    let output = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", text(folder.path())]);

    refused(&output, 1, &["written by a newer version (schema 1000"]);
    assert!(std::fs::read(&store).unwrap() == bytes, "the file was changed");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (data, own) = (folder.path().join("data"), folder.path().join("wellspring"));
    std::fs::create_dir(&data).unwrap();
    std::fs::copy(binary(), &own).unwrap();
    let mut command = Command::new(&own);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data).current_dir(folder.path());
    // Nothing is read-only for root.
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(&data, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    std::fs::set_permissions(&data, PermissionsExt::from_mode(0o555)).unwrap();

    let output = command.output().unwrap();

    refused(&output, 1, &[text(&data), "Permission denied"]);
}

/// Started where no file may grow beyond this.
async fn start_with_little_room(place: &DataFolder, kibibytes: u64) -> Served {
    let script = place.data().join("../little-room");
    // The signal is ignored, and so is its default, to end the process: a full disk sends none.
    let text = format!("#!/bin/bash\ntrap '' XFSZ\nulimit -f {kibibytes}\nexec {} \"$@\"\n", text(binary()));
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    place.start_through(&script).await
}

#[tokio::test]
async fn a_full_disk_refuses_what_is_new_serves_what_is_there_and_loses_nothing() {
    let mut place = DataFolder::new();
    place.options.extend(["--keep-events".to_owned(), "10000".to_owned()]);
    let served = place.start().await;
    let source = deploy(&served.client()).await;
    served.stop().await;
    let (id, endpoint) = (source["id"].as_str().unwrap(), source["configured_props"]["http"]["endpoint_url"].clone());
    let path = endpoint.as_str().unwrap().rsplit_once("/e/").unwrap().1.to_owned();

    // The source's image fits: its memory is a file to the system, and under the same bound.
    let served = start_with_little_room(&place, 6 << 10).await;
    let client = served.client();
    let (mut answered, mut refusal) = (0, None);
    for number in 0..1000 {
        let body = json!({"number": number, "padding": "x".repeat(10_000)});
        let reply = client.trigger(&client.at(&format!("/e/{path}")), &body).await.unwrap();
        match reply.status {
            200 => answered += 1,
            _ => {
                refusal = Some(reply);
                break;
            }
        }
    }

    let refusal = refusal.expect("ten megabytes do not fit into six");
    assert_eq!((refusal.status, &refusal.json()["code"]), (503, &json!("store_unavailable")), "{}", refusal.text());
    assert!(answered > 0, "some fit");
    assert_eq!(client.events(id, "default").await.unwrap().len(), answered, "what is there is still served");
    served.kill().await;
    let served = place.start().await;
    let events = served.client().events(id, "default").await.unwrap();
    let mut numbers: Vec<u64> = events.iter().map(|event| event["event"]["number"].as_u64().unwrap()).collect();
    // A run that takes longer than the grace is answered before it is committed, and may be overtaken.
    numbers.sort_unstable();
    assert_eq!(numbers, (0..answered as u64).collect::<Vec<_>>());
    let reply = served.client().trigger(&format!("{}/e/{path}", served.url), &json!({"number": -1})).await.unwrap();
    assert_eq!(reply.status, 200, "with room again, it goes on");
}
