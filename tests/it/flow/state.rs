//! `db` under concurrency: a run is a transaction on it.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rig::client::Client;
use rig::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::{Deployed, World, on_every_store};

on_every_store! {
    concurrent_runs_lose_no_update,
    nor_do_they_with_a_request_in_between,
    nor_when_the_value_is_read_after_the_request,
    a_callback_during_a_request_reads_what_was_written_before_it,
    a_throw_keeps_what_was_done_before_it,
    an_atomic_run_counts_only_when_it_returns,
}

/// Sends `count` requests, `at_once` under way at a time, to each of the endpoints in turn.
async fn send(clients: &[(Client, String)], count: usize, at_once: usize) {
    let mut under_way = FuturesUnordered::new();
    for (client, endpoint) in clients.iter().cycle().take(count) {
        if under_way.len() == at_once {
            under_way.next().await;
        }
        under_way.push(async move {
            let reply = client.trigger(endpoint, &json!({})).await.unwrap();
            assert_eq!(reply.status, 200, "{}", reply.text());
        });
    }
    while under_way.next().await.is_some() {}
}

/// Every run has seen another count, so none was lost and none counted twice.
async fn check_counts(world: &World, source: &Deployed, count: usize) {
    let mut seen: Vec<u64> =
        world.wait_for_events(source, "default", count).await.iter().map(|n| n.as_u64().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=count as u64).collect::<Vec<_>>());
}

fn clients(world: &World, source: &Deployed) -> Vec<(Client, String)> {
    vec![(world.client.clone(), source.endpoint.clone())]
}

async fn concurrent_runs_lose_no_update(world: World) {
    let run = "run() { const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); this.$emit(n); }";
    let source = world.endpoint(run).await;

    send(&clients(&world, &source), 80, 8).await;

    check_counts(&world, &source, 80).await;
}

/// A run that waits for another one must not keep it from a sandbox, nor those of sources that have no `db`.
#[tokio::test(flavor = "multi_thread")]
async fn runs_that_wait_for_a_key_hold_no_sandbox() {
    let world = World::with(&["--share", "runs=4/2"]).await;
    let receiver = Receiver::start(|_| Answer::status(200)).await;
    let run = format!(
        "async run({{body}}) {{ if (body.first) await fetch('{0}'); const n = (this.db.get('n') || 0) + 1; \
         if (body.then) await fetch('{0}'); this.db.set('n', n); this.$emit(n); }}",
        receiver.url("/")
    );
    let source = world.endpoint(&run).await;

    let bodies = [json!({}), json!({"first": true}), json!({"then": true}), json!({})];
    let requests = (0..60).map(|n| {
        let (client, endpoint, body) = (&world.client, &source.endpoint, &bodies[n % bodies.len()]);
        async move { client.trigger(endpoint, body).await.unwrap().status }
    });
    let statuses: Vec<u16> = futures_util::stream::iter(requests).buffer_unordered(20).collect().await;

    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    check_counts(&world, &source, 60).await;
}

async fn nor_do_they_with_a_request_in_between(world: World) {
    let receiver = Receiver::start(|_| Answer::status(200)).await;
    let run = format!(
        "async run() {{ const n = (this.db.get('n') || 0) + 1; await fetch('{}'); this.db.set('n', n); this.$emit(n); }}",
        receiver.url("/")
    );
    let source = world.endpoint(&run).await;

    send(&clients(&world, &source), 40, 8).await;

    check_counts(&world, &source, 40).await;
}

async fn nor_when_the_value_is_read_after_the_request(world: World) {
    let receiver = Receiver::start(|_| Answer::status(200)).await;
    let run = format!(
        "async run() {{ await fetch('{}'); const n = (this.db.get('n') || 0) + 1; this.db.set('n', n); this.$emit(n); }}",
        receiver.url("/")
    );
    let source = world.endpoint(&run).await;

    send(&clients(&world, &source), 40, 8).await;

    check_counts(&world, &source, 40).await;
}

async fn a_callback_during_a_request_reads_what_was_written_before_it(world: World) {
    let run = "async run(event) {
        if (event.path === '/callback') return this.http.respond({status: 200, body: [this.db.get('token'), this.db.get('n')]});
        const n = (this.db.get('n') || 0) + 1;
        this.db.set('token', 'abc');
        const answer = await fetch(`${this.http.endpoint}/callback`);
        this.db.set('n', n);
        this.http.respond({status: 200, body: await answer.text()});
    }";
    let props = "http: {type: '$.interface.http', customResponse: true}, db: '$.service.db'";
    let source = world.deploy(props, run).await;

    let reply = world.client.trigger(&source.endpoint, &json!({})).await.unwrap();

    assert_eq!((reply.status, reply.text().as_str()), (200, r#"["abc",null]"#));
}

const FAILS: &str = "async run(event) {
    if (event.body.read) return this.http.respond({status: 200, body: {kept: this.db.get('kept') ?? null}});
    this.db.set('kept', 1);
    this.$emit('before');
    this.http.respond({status: 202, body: 'early'});
    throw new Error('no');
}";

async fn what_is_left(world: &World, rest: &str) -> (u16, Value, Vec<Value>) {
    let props = "http: {type: '$.interface.http', customResponse: true}, db: '$.service.db'";
    let source = world.deploy(props, rest).await;
    let failed = world.client.trigger(&source.endpoint, &json!({})).await.unwrap();
    let read = world.client.trigger(&source.endpoint, &json!({"read": true})).await.unwrap();
    assert_eq!(world.events(&source, "$errors").await.len(), 1);
    (failed.status, read.json()["kept"].clone(), world.events(&source, "default").await)
}

async fn a_throw_keeps_what_was_done_before_it(world: World) {
    assert_eq!(what_is_left(&world, FAILS).await, (202, json!(1), vec![json!("before")]));
}

async fn an_atomic_run_counts_only_when_it_returns(world: World) {
    let rest = format!("atomic: true, {FAILS}");

    assert_eq!(what_is_left(&world, &rest).await, (500, json!(null), vec![]));
}

/// Two hosts on one Redis.
#[tokio::test(flavor = "multi_thread")]
async fn runs_on_different_hosts_lose_no_update() {
    let receiver = Receiver::start(|_| Answer::status(200)).await;
    let world = World::on_redis().await;
    let place = rig::served::DataFolder::in_store(world.place.store.clone());
    std::fs::copy(world.place.data().join("encryption.key"), place.data().join("encryption.key")).unwrap();
    let other = place.start().await;
    for asks in [String::new(), format!("await fetch('{}');", receiver.url("/"))] {
        let run = format!(
            "async run() {{ const n = (this.db.get('n') || 0) + 1; {asks} this.db.set('n', n); this.$emit(n); }}"
        );
        let source = world.endpoint(&run).await;
        let elsewhere = source.endpoint.replace(&world.served.url, &other.url);
        assert_ne!(elsewhere, source.endpoint);

        let clients = [(world.client.clone(), source.endpoint.clone()), (other.client(), elsewhere)];
        send(&clients, 60, 8).await;

        check_counts(&world, &source, 60).await;
    }
}
