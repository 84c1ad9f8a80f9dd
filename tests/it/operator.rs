//! The operator's commands, on the real binary: beside a server that runs, and while none does.

use std::time::Duration;

use rig::client::Client;
use rig::served::{DataFolder, KEY, binary};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::bad_days::{command, deploy, refused, text, wellspring};

#[tokio::test]
async fn an_operator_commands_a_server_that_runs_and_one_that_does_not() {
    let place = DataFolder::new();
    let served = place.start().await;
    let data = place.data();
    let run = |arguments: &[&str]| {
        let output = wellspring(&[arguments, &["--data", text(&data)]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };

    let key = run(&["users", "create", "ada", "--email", "ada@example.com", "--daily-invocations-quota", "4711"]);
    let listed = run(&["users", "list"]);
    let quotas: Vec<&str> = listed.lines().find(|line| line.contains("ada@")).unwrap().split_whitespace().collect();
    assert!(listed.contains("INVOCATIONS/DAY") && quotas.contains(&"4711") && quotas.contains(&"86400000"), "{listed}");
    let me = Client::new(&served.url, &key).get("/v1/users/me").await.unwrap().data();
    let period =
        json!({"plan": "paid", "billing_period_start_ts": 1_767_225_600, "billing_period_end_ts": 1_769_904_000});
    let users = served.client().get("/v1/admin/users").await.unwrap().data();
    let ada = users.as_array().unwrap().iter().find(|user| user["username"] == "ada").unwrap();
    let path = format!("/v1/admin/users/{}", ada["id"].as_str().unwrap());
    served.client().put(&path, &period).await.unwrap().success().unwrap();
    let listed = run(&["users", "list"]);
    assert!(listed.contains("BILLING PERIOD") && listed.contains("2026-01-01 to 2026-02-01: 0"), "{listed}");
    let paid = Client::new(&served.url, &key).get("/v1/users/me").await.unwrap().data();
    run(&["apps", "put", "slack", "--name", "Slack"]);
    let credentials = place.data().join("../credentials.json");
    std::fs::write(&credentials, r#"{"token": "t0ken"}"#).unwrap();
    run(&["accounts", "connect", "slack", "--user", "ada", "--credentials", text(&credentials)]);
    let rotated = run(&["rotate-key", "--json"]);
    let retire = wellspring(&["rotate-key", "--retire", "--data", text(&data)]);
    served.stop().await;

    assert_eq!((&me["username"], paid.get("api_key")), (&json!("ada"), None));
    assert_eq!(serde_json::from_str::<Value>(&rotated).unwrap()["rewrapped"], 2, "the account and the check");
    refused(&retire, 1, &["a server is running"]);
    let accounts: Value = serde_json::from_str(&run(&["accounts", "list", "--user", "ada", "--json"])).unwrap();
    assert_eq!(accounts[0]["name"], "Slack");
    run(&["rotate-key", "--retire"]);
    let second = run(&["users", "new-key", "ada"]);
    run(&["users", "delete", "ada", "--yes"]);
    assert!(!run(&["users", "list"]).contains("ada@example.com"));
    let served = place.start().await;
    for key in [&key, &second] {
        assert_eq!(Client::new(&served.url, key).get("/v1/users/me").await.unwrap().status, 401);
    }
    assert_eq!(Client::new(&served.url, KEY).get("/v1/users/me").await.unwrap().status, 200);
}

#[tokio::test]
async fn a_slug_leads_to_its_app_and_to_nothing_else() {
    let place = DataFolder::new();
    let _served = place.start().await;
    let data = place.data();
    let run = |arguments: &[&str]| wellspring(&[arguments, &["--data", text(&data)]].concat());
    let secret = place.data().join("../secret");
    std::fs::write(&secret, "s3cret").unwrap();
    let configured = run(&["apps", "configure", "github", "--client-id", "c1", "--client-secret", text(&secret)]);
    assert!(configured.status.success(), "{}", String::from_utf8_lossy(&configured.stderr));
    let before = run(&["apps", "show", "github"]);
    assert!(before.status.success());

    let unknown = ["github/client", "github?x=1", "github#x", "x/../github", "x/../../users"].map(|slug| (slug, 1));
    for (slug, code) in unknown.into_iter().chain([("..", 2), (".", 2)]) {
        for arguments in [&["show", slug][..], &["delete", slug], &["configure", slug, "--delete"]] {
            refused(&run(&[&["apps"], arguments].concat()), code, &[slug]);
        }
    }

    assert_eq!(run(&["apps", "show", "github"]).stdout, before.stdout, "it has its client still");
}

#[tokio::test]
async fn a_backup_of_a_server_that_runs_is_restored_to_the_moment_it_was_made() {
    let place = DataFolder::new();
    let served = place.start().await;
    let before = deploy(&served.client()).await;
    let copy = place.data().join("../copy.db");
    let backup = || wellspring(&["backup", text(&copy), "--data", text(&place.data())]);

    assert!(backup().status.success());
    let after = deploy(&served.client()).await;
    refused(&backup(), 1, &["exists already"]);
    let restore = || wellspring(&["restore", text(&copy), "--yes", "--data", text(&place.data())]);
    refused(&restore(), 1, &["a server has", "stop it first"]);
    served.stop().await;
    let restored = restore();

    refused(&restored, 0, &["is the store now", "what was there before is in"]);
    let client_of = place.start().await;
    let status = async |source: &Value| {
        client_of.client().get(&format!("/v1/sources/{}", source["id"].as_str().unwrap())).await.unwrap().status
    };
    assert_eq!((status(&before).await, status(&after).await), (200, 404));
}

#[tokio::test]
async fn a_store_that_is_damaged_says_so_and_is_restored_from_a_backup() {
    let place = DataFolder::new();
    let served = place.start().await;
    let source = deploy(&served.client()).await;
    let (copy, data) = (place.data().join("../copy.db"), place.data());
    assert!(wellspring(&["backup", text(&copy), "--data", text(&data)]).status.success());
    served.stop().await;

    // With its log, the database would be made again from that.
    for name in ["store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(data.join(name));
    }
    std::fs::write(data.join("store.db"), "this was a database once, and now it is not one any more").unwrap();
    let damaged = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", text(&data)]);
    let absent = wellspring(&["restore", "/nowhere.db", "--yes", "--data", text(&data)]);
    let is_left_alone = data.join("store.db").exists();
    let restored = wellspring(&["restore", text(&copy), "--yes", "--data", text(&data)]);

    refused(&absent, 1, &["/nowhere.db cannot be put back"]);
    assert!(is_left_alone);
    refused(&damaged, 1, &["damaged or is not a database; restore it from a backup"]);
    refused(&restored, 0, &["is the store now", "what was there before is in"]);
    let served = place.start().await;
    let path = format!("/v1/sources/{}", source["id"].as_str().unwrap());
    assert_eq!(served.client().get(&path).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_doctor_says_what_is_fine_and_fails_where_something_is_not() {
    let place = DataFolder::new();
    let served = place.start().await;
    let address = served.url.strip_prefix("http://").unwrap().to_owned();
    let data = place.data();
    let examine = |listen: &str| {
        command(&["doctor", "--offline", "--json", "--data", text(&data)]).env("WELLSPRING_LISTEN", listen).output()
    };

    let running = examine(&address).unwrap();
    served.stop().await;
    std::fs::write(data.join("encryption.key"), "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n").unwrap();
    let wrong_key = examine(&address).unwrap();

    assert_eq!(running.status.code(), Some(0), "{}", String::from_utf8_lossy(&running.stdout));
    let findings: Vec<Value> = serde_json::from_slice(&wrong_key.stdout).unwrap();
    let failed: Vec<&Value> = findings.iter().filter(|finding| finding["level"] == "fail").collect();
    assert_eq!((wrong_key.status.code(), failed.len()), (Some(1), 1), "{failed:?}");
    assert_eq!(failed[0]["about"], "key");
    assert!(failed[0]["advice"].as_str().unwrap().contains("encryption.key"));
}

#[test]
fn a_doctor_tells_whether_redis_keeps_what_it_is_given() {
    let redis = rig::redis::Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let examine = || {
        let data = text(folder.path());
        let output = wellspring(&["doctor", "--offline", "--json", "--data", data, "--store", &redis.url()]);
        let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let about = |name: &str| findings.iter().find(|finding| finding["about"] == name).unwrap()["level"].clone();
        [about("redis disk"), about("redis memory")]
    };

    let durable = examine();
    redis.set("appendfsync", "everysec");
    redis.set("maxmemory", "1gb");
    redis.set("maxmemory-policy", "allkeys-lru");
    let careless = examine();

    assert_eq!(durable, ["ok", "ok"]);
    assert_eq!(careless, ["warn", "fail"]);
}

#[test]
fn a_doctor_tells_whether_postgres_keeps_what_it_is_given() {
    let postgres = rig::postgres::Postgres::start();
    let folder = tempfile::tempdir().unwrap();
    let examine = |options: &str| {
        let store = format!("{}{options}", postgres.url());
        let output = wellspring(&["doctor", "--offline", "--json", "--data", text(folder.path()), "--store", &store]);
        let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        findings.iter().find(|finding| finding["about"] == "postgres disk").unwrap()["level"].clone()
    };

    assert_eq!(examine(""), "ok");
    assert_eq!(examine("?options=-c%20synchronous_commit%3Doff"), "warn");
}

#[tokio::test]
async fn a_component_that_is_saved_is_deployed_again_and_its_events_are_shown() {
    let place = DataFolder::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("greet.js");
    let code = |word: &str| {
        format!(
            "module.exports = {{name: 'greet', version: '1', props: {{http: '$.interface.http'}}, \
             run() {{ this.$emit({{word: '{word}'}}) }}}}"
        )
    };
    std::fs::write(&file, code("first")).unwrap();
    let mut child = tokio::process::Command::new(binary())
        .args(["dev", text(&file), "--listen", "127.0.0.1:0", "--data", text(&place.data())])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines();
    let patience = Duration::from_secs(120);
    let mut wait_for = async |part: &str| {
        let found = async {
            while let Ok(Some(line)) = talk.next_line().await {
                if line.contains(part) {
                    return line.trim().to_owned();
                }
            }
            panic!("{part} was never said");
        };
        tokio::time::timeout(patience, found).await.expect(part)
    };
    // Between events are lines of runs.
    let next_event = async |shown: &mut tokio::io::Lines<BufReader<tokio::process::ChildStdout>>| loop {
        let line = tokio::time::timeout(patience, shown.next_line()).await.unwrap().unwrap().unwrap();
        if line.contains("  event  ") {
            return line;
        }
    };
    let client = Client::new("", KEY);

    let endpoint = wait_for("/e/").await.trim_start_matches("http: ").to_owned();
    client.trigger(&endpoint, &json!({})).await.unwrap();
    let first = next_event(&mut shown).await;
    std::fs::write(&file, "module.exports = {").unwrap();
    wait_for("was not deployed").await;
    std::fs::write(&file, code("second")).unwrap();
    wait_for("updated greet").await;
    client.trigger(&endpoint, &json!({})).await.unwrap();
    let second = next_event(&mut shown).await;

    assert!(first.contains(r#"{"word":"first"}"#), "{first}");
    assert!(second.contains(r#"{"word":"second"}"#), "{second}");
}

#[test]
fn asking_about_a_store_that_is_not_there_does_not_make_one() {
    let folder = tempfile::tempdir().unwrap();

    refused(&wellspring(&["users", "list", "--data", text(folder.path())]), 1, &["there is no store in"]);

    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
