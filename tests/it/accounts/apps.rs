//! Apps, clients and accounts from the command line and over the API.

use std::process::{Command, Output};

use rig::served::KEY;
use serde_json::{Value, json};

use super::{World, configure, connect, deploy};

fn wellspring(world: &World, arguments: &[&str]) -> Output {
    let mut command = Command::new(rig::served::binary());
    command.args(arguments).env("WELLSPRING_URL", &world.served.url).env("WELLSPRING_API_KEY", KEY);
    command.env("WELLSPRING_DATA", world.folder.data()).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_configures_a_shipped_app_and_registers_one_of_their_own() {
    let world = World::new().await;
    let secret = world.folder.data().join("secret.txt");
    std::fs::write(&secret, "client-s3cret-planted\n").unwrap();
    let file = world.folder.data().join("acme.json");
    let provider = json!({"slug": "acme", "name": "Acme", "auth": {"type": "keys"}, "fields": [{"name": "api_key", "label": "Key", "secret": true}]});
    std::fs::write(&file, provider.to_string()).unwrap();
    let data = world.folder.data().display().to_string();

    let configured = wellspring(
        &world,
        &[
            "apps",
            "configure",
            "github",
            "--data",
            &data,
            "--client-id",
            "c1",
            "--client-secret",
            secret.to_str().unwrap(),
        ],
    );
    let own = wellspring(&world, &["apps", "put", "--data", &data, "--file", file.to_str().unwrap()]);
    let shown = wellspring(&world, &["apps", "show", "github", "--data", &data]);
    let listed = wellspring(&world, &["apps", "list", "--data", &data]);
    std::fs::write(&file, json!({"slug": "acme", "name": "Acme", "auth": {"type": "magic"}}).to_string()).unwrap();
    let wrong = wellspring(&world, &["apps", "put", "--data", &data, "--file", file.to_str().unwrap()]);

    assert!(configured.status.success(), "{}", text(&configured));
    assert!(text(&configured).contains("/oauth/callback"), "{}", text(&configured));
    assert!(!text(&configured).contains("s3cret"));
    assert!(own.status.success(), "{}", text(&own));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!((&shown["client"], &shown["needs_client"]), (&json!("installation"), &json!(true)));
    let listed = text(&listed);
    assert!(listed.contains("acme") && listed.contains("google_sheets") && listed.contains("trello"), "{listed}");
    assert!(!wrong.status.success() && text(&wrong).contains("unknown variant `magic`"), "{}", text(&wrong));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_renamed_tested_looked_at_and_deleted_with_what_would_break() {
    let world = World::new().await;
    let client = world.client();
    configure(&client, "github").await;
    let account = connect(&client, &world.service, "github", &[]).await;
    let source = deploy(&client, "github", &json!({"authProvisionId": account}), "", "").await;

    let renamed = wellspring(&world, &["accounts", "rename", "ada", "work"]);
    let tested = wellspring(&world, &["accounts", "test", "work"]);
    let uses = wellspring(&world, &["accounts", "uses", "work"]);
    let refused = wellspring(&world, &["accounts", "delete", "work", "--yes"]);
    let link = wellspring(&world, &["accounts", "reconnect", "work", "--no-wait"]);

    assert!(renamed.status.success(), "{}", text(&renamed));
    assert!(tested.status.success() && text(&tested).contains("GitHub accepts the credentials"), "{}", text(&tested));
    assert!(text(&uses).contains(&source), "{}", text(&uses));
    assert!(!refused.status.success() && text(&refused).contains(&source), "{}", text(&refused));
    assert!(text(&link).contains("/connect/wsc_"), "{}", text(&link));
    let audit = client.get("/v1/audit?limit=100").await.unwrap().text();
    for action in ["PUT /v1/accounts/{id}", "POST /v1/accounts/{id}/test", "POST /v1/connects", "GET /oauth/callback"] {
        assert!(audit.contains(action), "{action} is not in the audit log");
    }
}
