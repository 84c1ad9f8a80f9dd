//! `wellspring migrate`, on the real binary: while no server runs, and beside one that only reads.

use rig::client::Client;
use rig::served::{DataFolder, Served};
use rig::wait::until;
use serde_json::{Value, json};

use crate::bad_days::{deploy, refused, wellspring};

#[tokio::test]
async fn everything_moves_to_redis_and_back_while_no_server_runs() {
    let redis = tokio::task::spawn_blocking(rig::redis::Redis::start).await.unwrap();
    moves_there_and_back(redis.url()).await;
}

#[tokio::test]
async fn everything_moves_to_postgres_and_back_while_no_server_runs() {
    let postgres = tokio::task::spawn_blocking(rig::postgres::Postgres::start).await.unwrap();
    moves_there_and_back(postgres.url()).await;
}

async fn moves_there_and_back(url: String) {
    let mut place = DataFolder::new();
    let served = place.start().await;
    let source = deploy(&served.client()).await;
    let path = format!("/v1/sources/{}", source["id"].as_str().unwrap());
    served.stop().await;
    let data = place.data().display().to_string();

    // The store is empty and the folder is not: that is said, instead of starting with nothing.
    let early = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", &data, "--store", &url]);
    refused(&early, 1, &["wellspring migrate"]);
    let there = wellspring(&["migrate", "--from", &data, "--to", &url, "--json"]);
    assert!(there.status.success(), "{}", String::from_utf8_lossy(&there.stderr));

    place.store = Some(url.clone());
    let served = place.start().await;
    assert_eq!(served.client().get(&path).await.unwrap().status, 200);
    let busy = wellspring(&["migrate", "--from", &url, "--to", &data]);
    refused(&busy, 1, &["another server uses the folder"]);
    let copy = place.data().join("copy.db").display().to_string();
    refused(&wellspring(&["backup", &copy, "--data", &data, "--store", &url]), 1, &["servers use this store"]);
    served.stop().await;

    let copied = wellspring(&["backup", &copy, "--data", &data, "--store", &url]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let again = wellspring(&["restore", &copy, "--data", &data, "--store", &url]);
    refused(&again, 1, &["the store has data already"]);
    let back = wellspring(&["migrate", "--from", &url, "--to", &data]);
    assert!(back.status.success(), "{}", String::from_utf8_lossy(&back.stderr));
    place.store = None;
    let served = place.start().await;
    assert_eq!(served.client().get(&path).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_server_that_only_reads_answers_while_its_store_moves_to_redis_and_back() {
    let redis = tokio::task::spawn_blocking(rig::redis::Redis::start).await.unwrap();
    moves_beside_a_reader(redis.url()).await;
}

#[tokio::test]
async fn a_server_that_only_reads_answers_while_its_store_moves_to_postgres_and_back() {
    let postgres = tokio::task::spawn_blocking(rig::postgres::Postgres::start).await.unwrap();
    moves_beside_a_reader(postgres.url()).await;
}

async fn moves_beside_a_reader(url: String) {
    let mut place = DataFolder::new();
    let data = place.data().display().to_string();
    let served = place.start().await;
    let source = Deployed::on(&served).await;
    let busy = wellspring(&["migrate", "--from", &data, "--to", &url]);
    refused(&busy, 1, &["a server uses the folder", "--read-only"]);
    served.stop().await;

    place.options.push("--read-only".into());
    let reader = place.start().await;
    source.is_read_and_not_written(&reader).await;
    let there = wellspring(&["migrate", "--from", &data, "--to", &url]);
    assert!(there.status.success(), "{}", String::from_utf8_lossy(&there.stderr));
    source.is_read_and_not_written(&reader).await;
    let second = wellspring(&["serve", "--listen", "127.0.0.1:0", "--data", &data]);
    refused(&second, 1, &["another server uses the folder"]);
    reader.stop().await;

    let mut shared = DataFolder::in_store(Some(url.clone()));
    let writer = shared.start().await;
    let other = DataFolder::new();
    let back = other.data().display().to_string();
    refused(&wellspring(&["migrate", "--from", &url, "--to", &back]), 1, &["1 servers use this store", "--read-only"]);
    writer.stop().await;
    shared.options.push("--read-only".into());
    let reader = shared.start().await;
    let hosts: Vec<Value> = serde_json::from_slice(
        &wellspring(&["hosts", "--json", "--data", &shared.data().display().to_string()]).stdout,
    )
    .unwrap();
    let returned = wellspring(&["migrate", "--from", &url, "--to", &back]);
    assert!(returned.status.success(), "{}", String::from_utf8_lossy(&returned.stderr));
    source.is_read_and_not_written(&reader).await;
    reader.stop().await;

    assert_eq!((hosts.len(), &hosts[0]["read_only"]), (1, &json!(true)));
    let served = other.start().await;
    assert_eq!(source.send(&served.client()).await, 200, "and here it goes on");
    source.has_events(&served.client(), 2).await;
}

/// A source with one event.
struct Deployed {
    id: String,
    endpoint: String,
}

impl Deployed {
    async fn on(served: &Served) -> Self {
        let source = deploy(&served.client()).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let endpoint = text(&source["configured_props"]["http"]["endpoint_url"]).replace(&served.url, "");
        let deployed = Self { id: text(&source["id"]), endpoint };
        assert_eq!(deployed.send(&served.client()).await, 200);
        deployed.has_events(&served.client(), 1).await;
        deployed
    }

    async fn send(&self, client: &Client) -> u16 {
        client.post(&self.endpoint, &json!({"hello": "world"})).await.unwrap().status
    }

    async fn events(&self, client: &Client) -> usize {
        let listed = client.get(&format!("/v1/sources/{}/event_summaries", self.id)).await.unwrap();
        listed.data().as_array().unwrap().len()
    }

    /// A request may be answered before its run has ended.
    async fn has_events(&self, client: &Client, count: usize) {
        until("the events are there", async || (self.events(client).await == count).then_some(())).await;
    }

    async fn is_read_and_not_written(&self, reader: &Served) {
        let client = reader.client();
        assert_eq!(client.get("/readyz").await.unwrap().status, 200);
        assert_eq!((self.send(&client).await, self.events(&client).await), (503, 1));
        let run = client.post(&format!("/v1/sources/{}/run", self.id), &json!({})).await.unwrap();
        assert_eq!((run.status, &run.json()["code"]), (503, &json!("read_only")));
    }
}
