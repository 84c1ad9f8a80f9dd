//! Hosts of two versions on one Redis, while they are replaced one after the other.
//!
//! The older host is this program with `--store-layout 1`: it reads and writes what its version did. Building the program of
//! an earlier commit would take longer than all other tests together. What it works on was written by an earlier version:
//! its data folder (`upgrade/`), moved to Redis.

use rig::client::Client;
use rig::redis::Redis;
use rig::served::binary;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::{host, redis, until};
use crate::flow::World;
use crate::upgrade::{folder_of, layouts};

/// The Redis that an earlier version has left.
async fn earlier() -> Redis {
    let (redis, place) = (redis().await, folder_of(&layouts()[0]));
    let data = place.data().display().to_string();
    let moved = std::process::Command::new(binary()).args(["migrate", "--from", &data, "--to", &redis.url()]).output();
    let moved = moved.unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    redis
}

/// The layouts that each host reads and writes, lowest first.
async fn said_layouts(client: &Client) -> Vec<(u64, u64)> {
    let hosts = client.get("/v1/admin/hosts").await.unwrap().data();
    let number = |host: &Value, name: &str| host[name].as_u64().unwrap();
    let mut said: Vec<_> =
        hosts.as_array().unwrap().iter().map(|host| (number(host, "reads"), number(host, "writes"))).collect();
    said.sort_unstable();
    said
}

/// Runs the source, and returns the id of the run.
async fn run(world: &World, id: &str) -> String {
    let ran = world.client.post(&format!("/v1/sources/{id}/run"), &json!({"from": "a test"})).await.unwrap();
    assert!(ran.status < 300, "{}", ran.text());
    let runs = world.client.get(&format!("/v1/sources/{id}/runs?limit=1")).await.unwrap().data();
    runs[0]["id"].as_str().unwrap().to_owned()
}

/// The input of a run, as it was recorded.
async fn input(world: &World, run: &str) -> Value {
    world.client.get(&format!("/v1/runs/{run}")).await.unwrap().data()["input"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_layout_is_written_when_no_host_is_left_that_cannot_read_it() {
    let redis = earlier().await;
    let older = host(&redis, &["--store-layout", "1"]).await;
    let newer = host(&redis, &[]).await;
    let sources = newer.client.list("/v1/users/me/sources").await.unwrap();
    let id = sources.iter().find(|source| source["name"] == "counter").unwrap()["id"].as_str().unwrap().to_owned();
    newer.client.put(&format!("/v1/sources/{id}/recording"), &json!({"mode": "all"})).await.unwrap().data();

    // Both work on it; what the newer one writes, the older one reads.
    let of_newer = run(&newer, &id).await;
    let of_older = run(&older, &id).await;
    assert_eq!(said_layouts(&newer.client).await, [(1, 1), (4, 1)]);
    for recorded in [&of_newer, &of_older] {
        let (there, here) = (input(&older, recorded).await, input(&newer, recorded).await);
        assert!(there == here && here.is_object(), "{there} {here}");
    }
    let World { place, served, .. } = older;
    served.stop().await;

    until(async || said_layouts(&newer.client).await == [(4, 4)]).await;
    let in_new_layout = run(&newer, &id).await;
    let last = host(&redis, &[]).await;
    for recorded in [&of_newer, &of_older, &in_new_layout] {
        assert!(input(&last, recorded).await.is_object(), "every layout is read");
    }
    // The older version would not understand it any more.
    let mut again = place.spawn();
    let mut said = String::new();
    again.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert!(!again.wait().await.unwrap().success());
    assert!(said.contains("layout 4, this version reads up to 1"), "{said}");
    assert_eq!(said_layouts(&newer.client).await.len(), 2);
}

/// It was not heard of for longer than others wait, and they have gone on without it.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_host_that_paused_while_the_store_was_upgraded_stops() {
    let redis = redis().await;
    let older = host(&redis, &["--store-layout", "1"]).await;
    let newer = host(&redis, &[]).await;
    assert_eq!(said_layouts(&newer.client).await, [(1, 1), (4, 1)]);

    older.served.signal("STOP").await;
    until(async || said_layouts(&newer.client).await == [(4, 4)]).await;
    older.served.signal("CONT").await;

    let said = older.served.ended().await;
    assert!(said.contains("other hosts have upgraded the store"), "{said}");
}
