//! `kill -9` at every commit of a workflow, with the real binary.
//!
//! On both stores. An event of a source starts a workflow with a branch, a pause, a parallel block and three actions, which ends in a webhook and an
//! e-mail. One run after the other, the server is killed right after one more transaction of its store than before, and
//! started again. Every run completes; what a run emitted, mailed and asked for was committed once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rig::receiver::{Answer, Received, Receiver};
use rig::redis::Redis;
use rig::relays::Relays;
use serde_json::{Value, json};

use super::{EMIT_BODY, World, text};

/// More than a run has: acceptance, its steps with a request, the pause, the blocks, the end, and what is sent after it.
const KILLS: u32 = 16;

fn action(key: &str, body: &str) -> Value {
    let code = format!(
        "module.exports = {{name: '{key}', version: '1', key: '{key}', type: 'action', props: {{n: 'integer'}}, async run({{ $ }}) {{ {body} }}}}"
    );
    json!({"component_code": code})
}

/// How many transactions SQLite has committed: it counts them in the index of its log, which is a file that the server has mapped.
fn transactions(data: &Path) -> u32 {
    let index = std::fs::read(data.join("store.db-shm")).unwrap_or_default();
    index.get(8..12).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
}

async fn world(relays: &Relays, redis: Option<&Redis>) -> World {
    let options = relays.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    World::in_store_with(redis.map(Redis::url), &options, vec![Relays::environment()]).await
}

async fn deploy(world: &World, source: &str, receiver: &Receiver) -> String {
    let asks = format!("return (await (await fetch('{}?n=' + this.n)).json()).n", receiver.url("/asked"));
    for (key, body) in [
        ("asks", asks.as_str()),
        ("mails", "$.send.email({subject: `run ${this.n}`, text: 'done'})"),
        ("emits", "$.send.emit({raw_event: {n: this.n}})"),
    ] {
        world.client.post("/v1/components", &action(key, body)).await.unwrap().data();
    }
    let used = |key: &str| json!({"namespace": key, "component_key": key, "props": {"n": "{{ steps.count.$return_value.n }}"}});
    let code = |namespace: &str, body: &str| json!({"namespace": namespace, "code": format!("export default {{ props: {{db: '$.service.db'}}, run({{ steps, $ }}) {{ {body} }} }}")});
    let document = json!({
        "settings": {"name": "killed"},
        "triggers": [{"type": "source", "source_id": source}],
        "steps": [
            // Each run counts once: a step whose commit stands does not run again.
            code("count", "const { n } = steps.trigger.event; this.db.set(`n${n}`, (this.db.get(`n${n}`) ?? 0) + 1); return { n, count: this.db.get(`n${n}`) }"),
            used("asks"),
            {"namespace": "route", "if": [
                {"when": "{{ steps.asks.$return_value % 2 === 0 }}", "steps": [code("even", "return 'even'")]},
                {"else": true, "steps": [code("odd", "return 'odd'")]},
            ]},
            code("wait", "$.flow.delay(20)"),
            {"namespace": "both", "parallel": {
                "left": {"steps": [code("left", "return 'left'")]},
                "right": {"steps": [used("mails")]},
            }},
            used("emits"),
        ],
    });
    text(&world.client.post("/v1/workflows", &document).await.unwrap().data()["id"])
}

fn answer(received: &Received) -> Answer {
    let n = received.query.trim_start_matches("n=").to_owned();
    Answer::status(200).body(format!("{{\"n\": {}}}", if n.is_empty() { "0" } else { &n }))
}

/// The runs that have ended well, once there are so many.
async fn ended(world: &World, workflow: &str, count: usize) -> Vec<Value> {
    let path = format!("/v1/workflows/{workflow}/runs?limit=100");
    for _ in 0..20_000 {
        let runs = world.client.get(&path).await.unwrap().data().as_array().unwrap().clone();
        assert!(runs.iter().all(|run| run["state"] != "error"), "{runs:?}");
        if runs.iter().filter(|run| run["state"] == "success").count() >= count {
            return runs;
        }
    }
    panic!("not all runs ended: {}", world.client.get(&path).await.unwrap().text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_completes_wherever_its_server_is_killed_and_commits_no_effect_twice() {
    a_workflow_completes(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_on_redis_completes_wherever_its_server_is_killed_and_commits_no_effect_twice() {
    let redis = tokio::task::spawn_blocking(Redis::start).await.unwrap();
    a_workflow_completes(Some(&redis)).await;
}

async fn a_workflow_completes(redis: Option<&Redis>) {
    let mut relays = Relays::start().await;
    let mut world = world(&relays, redis).await;
    let (receiver, mut inbox) = Receiver::with_inbox(answer).await;
    let source = world.endpoint(EMIT_BODY).await;
    let workflow = deploy(&world, &source.id, &receiver).await;
    let webhook = world.client.post("/v1/webhooks", &json!({"url": receiver.url("/heard")})).await.unwrap().data();
    world.subscribe(&workflow, &text(&webhook["id"]), "").await;

    for kill in 0..KILLS {
        let data = world.place.data();
        let committed = || redis.map_or_else(|| transactions(&data), Redis::commits);
        let before = committed();
        world.trigger(&source, &json!({"n": kill})).await;
        // At once, or right after one transaction more than in the round before; or when there are no more.
        let mut idle = 0;
        while committed().wrapping_sub(before) <= kill && idle < 20_000 {
            idle += 1;
            tokio::task::yield_now().await;
        }
        world.served.kill().await;
        world.served = world.place.start().await;
        world.client = world.served.client();
    }

    let runs = ended(&world, &workflow, KILLS as usize).await;
    assert_eq!(runs.len(), KILLS as usize, "an event starts one run: {runs:#?}");
    for run in &runs {
        let path = format!("/v1/workflows/{workflow}/runs/{}", text(&run["id"]));
        let run = world.client.get(&path).await.unwrap().data();
        let exports = &run["exports"];
        assert_eq!(exports["count"]["$return_value"]["count"], 1, "a committed step ran again: {run}");
        let n = exports["count"]["$return_value"]["n"].as_u64().unwrap();
        assert_eq!(exports["route"]["$return_value"], if n % 2 == 0 { "even" } else { "odd" }, "{run}");
        let names: Vec<&str> =
            run["steps"].as_array().unwrap().iter().filter_map(|step| step["namespace"].as_str()).collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), unique.len(), "each step has one result: {names:?}");
    }
    let path = format!("/v1/workflows/{workflow}/event_summaries?limit=100&expand=event");
    let events = world.client.get(&path).await.unwrap().data();
    let emitted: BTreeSet<u64> =
        events.as_array().unwrap().iter().filter_map(|event| event["event"]["raw_event"]["n"].as_u64()).collect();
    assert_eq!((events.as_array().unwrap().len(), emitted.len()), (KILLS as usize, KILLS as usize), "{events}");

    // What goes out goes out at least once, and whatever comes twice has one id.
    let mut heard: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    while heard.len() < KILLS as usize {
        let received = inbox.next().await;
        if received.path == "/heard" {
            let n = received.json()["event"]["raw_event"]["n"]
                .as_u64()
                .or_else(|| received.json()["raw_event"]["n"].as_u64());
            heard
                .entry(n.unwrap_or_else(|| panic!("{}", received.json())))
                .or_default()
                .insert(received.header("webhook-id").to_owned());
        }
    }
    assert!(heard.values().all(|ids| ids.len() == 1), "{heard:?}");
    let mut mailed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while mailed.len() < KILLS as usize {
        let message = text(&relays.next_mail().await["message"]);
        let line = |name: &str| message.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        mailed.entry(line("Subject:")).or_default().insert(line("Message-ID:"));
    }
    assert!(mailed.values().all(|ids| ids.len() == 1), "{mailed:?}");
}
