//! Images are built once for all hosts.

use futures_util::future::join_all;
use rig::redis::Redis;
use rig::served::DataFolder;
use serde_json::json;

use super::{host_at, redis};
use crate::flow::World;

/// Loading it takes a moment, and leaves something that cannot be told from what another loading leaves.
const HEAVY: &str = "
    table: (() => { const table = []; for (let at = 0; at < 200000; at++) table.push(at * 7 % 1013); return table.slice(0, 1000) })(),
    run(event) { this.$emit({ sum: module.exports.table.reduce((sum, one) => sum + one, 0) }) }";

/// One whose disk no other host sees.
async fn host(redis: &Redis) -> World {
    host_at(DataFolder::in_store(Some(redis.url())).with_own_cache()).await
}

/// How many images a host made in this way.
async fn made(host: &World, how: &str) -> u64 {
    let text = host.client.get("/metrics").await.unwrap().text();
    let name = format!("wellspring_images_made_total{{how=\"{how}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&name)).unwrap().trim().parse().unwrap()
}

/// So many calls of each host, at once.
async fn call_at_once(hosts: &[World], path: &str, each: usize) -> Vec<u16> {
    let call = async |host: &World| host.client.trigger(&host.client.at(path), &json!({})).await.unwrap().status;
    join_all(hosts.iter().flat_map(|host| (0..each).map(|_| call(host)))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_host_built_the_others_fetch_once() {
    let redis = redis().await;
    let hosts = [host(&redis).await, host(&redis).await, host(&redis).await];
    let [first, others @ ..] = &hosts;
    let source = first.endpoint(HEAVY).await;
    let path = source.endpoint.strip_prefix(&first.served.url).unwrap();

    let replies = call_at_once(others, path, 10).await;

    assert!(replies.iter().all(|status| *status == 200), "{replies:?}");
    // Some are answered before they run.
    let events = first.wait_for_events(&source, "default", 20).await;
    for host in others {
        assert_eq!((made(host, "built").await, made(host, "fetched").await), (0, 1));
    }
    assert_eq!(made(first, "built").await, 1);
    assert!(events.iter().all(|event| *event == events[0]), "{events:?}");
}

/// As after a long time, or when their disks are not kept.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_no_host_has_is_built_by_one() {
    let redis = redis().await;
    let [first, second] = [host(&redis).await, host(&redis).await];
    let source = first.endpoint(HEAVY).await;
    let path = source.endpoint.strip_prefix(&first.served.url).unwrap().to_owned();
    let mut hosts = Vec::new();
    for host in [first, second] {
        host.served.stop().await;
        std::fs::remove_dir_all(host.place.data().join("cache/images")).unwrap();
        let served = host.place.start().await;
        let client = served.client();
        hosts.push(World { place: host.place, served, client });
    }

    let replies = call_at_once(&hosts, &path, 5).await;

    assert!(replies.iter().all(|status| *status == 200), "{replies:?}");
    hosts[0].wait_for_events(&source, "default", 10).await;
    let mut sums = (0, 0);
    for host in &hosts {
        sums = (sums.0 + made(host, "built").await, sums.1 + made(host, "fetched").await);
    }
    assert_eq!(sums, (1, 1));
}
