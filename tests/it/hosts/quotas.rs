//! A quota counts on all hosts together.

use futures_util::future::join_all;
use serde_json::json;

use super::{host, redis, until};

#[tokio::test(flavor = "multi_thread")]
async fn three_hosts_run_what_a_quota_allows_within_a_twentieth() {
    const QUOTA: u64 = 60;
    const EACH: usize = 50;
    let redis = redis().await;
    let hosts = [host(&redis, &[]).await, host(&redis, &[]).await, host(&redis, &[]).await];
    let made = json!({"username": "ada", "email": "ada@example.com", "daily_invocations_quota": QUOTA});
    let made = hosts[0].client.post("/v1/admin/users", &made).await.unwrap().data();
    let key = made["api_key"].as_str().unwrap_or_else(|| panic!("{made}"));
    let ada = rig::client::Client::new(&hosts[0].served.url, key);
    let code = "module.exports = {name: 'a', version: '1', props: {http: '$.interface.http'}, \
                run(event) { this.$emit(event.body); }};";
    let source = ada.post("/v1/sources", &json!({"component_code": code})).await.unwrap().data();
    let endpoint = source["configured_props"]["http"]["endpoint_url"].as_str().unwrap();
    let path = endpoint.trim_start_matches(&hosts[0].served.url);

    let requests = hosts.iter().flat_map(|host| {
        (0..EACH).map(move |number| async move {
            let url = format!("{}{path}", host.served.url);
            host.client.trigger(&url, &json!({"n": number})).await.unwrap().status
        })
    });
    let statuses = join_all(requests).await;

    let ran = statuses.iter().filter(|status| **status == 200).count() as u64;
    let refused = statuses.iter().filter(|status| **status == 429).count() as u64;
    println!("{ran} ran on a quota of {QUOTA}, on three hosts");
    assert_eq!(ran + refused, 3 * EACH as u64, "{statuses:?}");
    assert!((QUOTA * 95 / 100..=QUOTA * 105 / 100).contains(&ran), "{ran}");
    // A request whose run takes longer is answered before it has ended.
    let id = source["id"].as_str().unwrap();
    until(async || ada.events(id, "default").await.unwrap().len() as u64 == ran).await;
}
