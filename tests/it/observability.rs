//! What an operator sees of a server: its metrics and its log.

mod dashboard;
mod traces;

use std::collections::BTreeSet;

use rig::client::Client;
use rig::port::lasting_port;
use rig::receiver::Answer;
use rig::served::DataFolder;
use rig::wait::until;
use serde_json::{Value, json};

use crate::flow::{EMIT_BODY, World};

/// Deploys, runs and delivers once, and then reads the metrics.
async fn scrape_after_some_activity(world: &World) -> String {
    let source = world.endpoint(EMIT_BODY).await;
    let mut webhook = world.webhook(&source, |_| Answer::status(200)).await;
    world.trigger(&source, &json!({"n": 1})).await;
    webhook.inbox.next().await;
    world.client.get("/metrics").await.unwrap().text()
}

/// Names of all series, as Prometheus keeps them.
fn series(scrape: &str) -> BTreeSet<String> {
    let samples = scrape.lines().filter(|line| !line.starts_with('#'));
    samples.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

/// The value of one series.
fn value(scrape: &str, series: &str) -> f64 {
    let line = scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{scrape}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_its_commit_and_its_delivery_are_counted_on_every_store() {
    let worlds = [
        (World::on_sqlite().await, [false, false]),
        (World::on_redis().await, [true, false]),
        (World::on_postgres().await, [false, true]),
    ];
    for (world, asks) in worlds {
        let scrape = scrape_after_some_activity(&world).await;

        assert_eq!(value(&scrape, "wellspring_runs_total{trigger=\"http\",outcome=\"success\"}"), 1.0);
        assert_eq!(value(&scrape, "wellspring_run_seconds_count{trigger=\"http\"}"), 1.0);
        assert!(value(&scrape, "wellspring_run_fuel_total") > 1000.0);
        assert!(value(&scrape, "wellspring_commit_seconds_count") > 3.0);
        let grouped = value(&scrape, "wellspring_commit_group_size_sum");
        assert!(grouped >= value(&scrape, "wellspring_commit_seconds_count"), "every commit is part of a group");
        assert!(value(&scrape, "wellspring_store_bytes") > 1000.0);
        assert!(value(&scrape, "wellspring_process_resident_memory_bytes") > 1e6);
        assert!(value(&scrape, "wellspring_share_limit{share=\"runs\"}") > 1.0);
        assert_eq!(value(&scrape, "wellspring_cache_bytes{cache=\"programs\"}"), 0.0, "its image was at hand");
        assert!(value(&scrape, "wellspring_cache_limit_bytes{cache=\"programs\"}") > 1e6);
        assert_eq!(value(&scrape, "wellspring_link_bytes{bytes=\"held\"}"), 0.0);
        assert!(value(&scrape, "wellspring_link_bytes{bytes=\"limit\"}") > 1e6);
        assert!(value(&scrape, "wellspring_cache_bytes{cache=\"images\"}") > 1e6);
        assert!(value(&scrape, "wellspring_memory_used_bytes") > 1e6);
        let servers = ["wellspring_redis_request_seconds_count", "wellspring_postgres_request_seconds_count"];
        assert_eq!(servers.map(|name| series(&scrape).contains(name)), asks);
        assert!(scrape.ends_with("# EOF\n") && scrape.matches("# EOF").count() == 1);
    }
}

/// Everything that a server writes on standard error between its start and its end, with a request in between.
async fn log_of_a_server(options: &[&str]) -> String {
    let mut place = DataFolder::new();
    place.options.extend(options.iter().map(|option| (*option).to_owned()));
    place.environment.push(("RUST_LOG".to_owned(), "info".to_owned()));
    let served = place.start().await;
    served.client().get("/healthz").await.unwrap();
    served.stop_and_listen().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_goes_on_when_nothing_reads_what_it_says() {
    let mut place = DataFolder::new();
    let port = lasting_port();
    place.listen = format!("127.0.0.1:{port}");
    let mut server = place.spawn();
    drop(server.stderr.take());
    let client = Client::new(&format!("http://127.0.0.1:{port}"), "");

    until("an answer", async || client.get("/readyz").await.ok().filter(|reply| reply.status == 200)).await;

    assert_eq!(server.try_wait().unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_json_every_line_of_the_log_is_an_object() {
    let log = log_of_a_server(&["--log-format", "json"]).await;

    let messages: Vec<String> = log
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
            line["fields"]["message"].as_str().unwrap_or_default().to_owned()
        })
        .collect();
    for said in ["Wellspring is at http://", "components may reach private networks", "answered", "shutting down"] {
        assert!(messages.iter().any(|message| message.starts_with(said)), "{said} is not in {messages:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_not_read_on_a_terminal_has_no_colour() {
    let log = log_of_a_server(&[]).await;

    assert!(log.contains("answered"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
}
