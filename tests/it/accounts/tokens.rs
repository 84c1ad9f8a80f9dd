//! Tokens that expire, with runs on several hosts, and with a host that is killed.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use rig::redis::Redis;
use rig::wait::until;
use serde_json::{Value, json};

use super::service::Service;
use super::{World, configure, connect, deploy, folder, run};

const CALL: &str = "const answer = await fetch('https://api.github.com/user', {headers: {Authorization: `Bearer ${this.app.$auth.oauth_access_token}`}}); \
    if (!answer.ok) throw new Error(`status ${answer.status}`); this.$emit(await answer.json());";

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Waits until the token of an account has expired.
async fn expire(client: &rig::client::Client, account: &str) {
    loop {
        let shown = client.get(&format!("/v1/accounts/{account}")).await.unwrap().data();
        if shown["expires_at"].as_u64().unwrap() < now_seconds() {
            return;
        }
    }
}

#[tokio::test]
async fn a_hundred_runs_on_three_hosts_with_an_expired_token_refresh_it_once() {
    let redis = Redis::start();
    let service = Service::start().await;
    let folders: Vec<_> = (0..3).map(|_| folder(&service, Some(redis.url()))).collect();
    let mut served = Vec::new();
    for folder in &folders {
        served.push(folder.start().await);
    }
    let clients: Vec<_> = served.iter().map(rig::served::Served::client).collect();
    configure(&clients[0], "github").await;
    service.lock().expires_in = Some(1);
    let account = connect(&clients[0], &service, "github", &[]).await;
    service.lock().expires_in = Some(3600);
    let source = deploy(&clients[0], "github", &json!({"authProvisionId": account}), "", CALL).await;
    expire(&clients[0], &account).await;

    let runs = join_all((0..100).map(|index| run(&clients[index % 3], &source))).await;

    let failed: Vec<&Value> = runs.iter().filter(|run| run["ok"] != true).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(service.lock().refreshes, 1);
}

#[tokio::test]
async fn a_host_that_is_killed_during_a_refresh_leaves_no_dead_account() {
    let World { folder, served, service } = World::new().await;
    let client = served.client();
    configure(&client, "github").await;
    service.lock().expires_in = Some(1);
    let account = connect(&client, &service, "github", &[]).await;
    service.lock().expires_in = Some(3600);
    let source = deploy(&client, "github", &json!({"authProvisionId": account}), "", CALL).await;
    expire(&client, &account).await;
    service.lock().hangs = true;

    let (killed, asking) = (client.clone(), source.clone());
    let asking = tokio::spawn(async move { killed.post(&format!("/v1/sources/{asking}/run"), &json!({})).await });
    // The provider has rotated the token; its answer never arrives.
    until("a refresh", async || (service.lock().refreshes > 0).then_some(())).await;
    served.kill().await;
    let served = folder.start().await;
    let ran = run(&served.client(), &source).await;

    assert_eq!(ran["ok"], true, "{ran}");
    let shown = served.client().get(&format!("/v1/accounts/{account}")).await.unwrap().data();
    assert_eq!(shown["state"], "connected", "{shown}");
    assert_eq!(service.lock().refreshes, 2);
    asking.abort();
}

#[tokio::test]
async fn a_token_that_the_service_refuses_is_refreshed_and_the_request_made_once_more() {
    let world = World::new().await;
    let client = world.client();
    configure(&client, "github").await;
    let account = connect(&client, &world.service, "github", &[]).await;
    let source = deploy(&client, "github", &json!({"authProvisionId": account}), "", CALL).await;
    world.service.lock().accepted.clear();
    world.service.lock().calls.clear();

    let ran = run(&client, &source).await;

    assert_eq!(ran["ok"], true, "{ran}");
    let service = world.service.lock();
    assert_eq!((service.refreshes, service.calls.len()), (1, 2));
}

#[tokio::test]
async fn a_revoked_account_is_reported_and_reconnecting_it_lets_its_sources_go_on() {
    let world = World::new().await;
    let client = world.client();
    configure(&client, "github").await;
    world.service.lock().expires_in = Some(1);
    let account = connect(&client, &world.service, "github", &[]).await;
    let source = deploy(&client, "github", &json!({"authProvisionId": account}), "", CALL).await;
    expire(&client, &account).await;
    world.service.lock().refresh_tokens.clear();

    let ran = run(&client, &source).await;
    let errors = client.events(&source, "$errors").await.unwrap();
    let shown = client.get(&format!("/v1/accounts/{account}")).await.unwrap().data();
    let said = client.get(&format!("/v1/sources/{source}")).await.unwrap().data();
    world.service.lock().expires_in = Some(3600);
    let begun = client.post("/v1/connects", &json!({"app": "github", "account_id": account})).await.unwrap().data();
    let link = begun["url"].as_str().unwrap();
    let next =
        client.call("POST", link, &[("content-type", "application/x-www-form-urlencoded")], "".into()).await.unwrap();
    let cookie = next.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let url = next.text().split("href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
    let callback = client.at(&world.service.agree(&url));
    let page = client.call("GET", &callback, &[("cookie", &cookie)], "".into()).await.unwrap();
    let again = run(&client, &source).await;

    assert_eq!(ran["error"]["code"], "account_disconnected", "{ran}");
    assert!(errors.iter().any(|event| event["event"]["error"]["code"] == "account_disconnected"), "{errors:?}");
    assert_eq!(shown["state"], "disconnected");
    assert!(said["problems"][0].as_str().unwrap().contains("wellspring accounts reconnect"), "{said}");
    assert_eq!(page.status, 200, "{}", page.text());
    assert_eq!(again["ok"], true, "{again}");
}
