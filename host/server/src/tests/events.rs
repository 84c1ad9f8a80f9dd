//! Tests of events.

use platform::fake::component;
use serde_json::{Value, json};

use super::wire::{Wire, id, wire};

async fn counted(wire: &Wire, count: u64) -> String {
    let source = wire.source(component("counts", json!({})), json!({})).await;
    for number in 1..=count {
        wire.world.clock.advance(1);
        wire.post(&format!("/v1/sources/{}/run", id(&source)), json!({"n": number})).await.data();
    }
    format!("/v1/sources/{}", id(&source))
}

#[tokio::test]
async fn event_summaries_have_the_fields_of_the_specification() {
    let wire = wire().await;
    let source = counted(&wire, 2).await;

    let page = wire.get(&format!("{source}/event_summaries")).await.json();

    let newest = &page["data"][0];
    assert_eq!((&newest["id"], &newest["indexed_at_ms"]), (&json!("1750593600002-0"), &json!(1_750_593_600_002_u64)));
    assert_eq!((&newest["event"], &newest["metadata"]["name"]), (&json!({"n": 2}), &json!("")));
    assert_eq!(newest["metadata"]["emit_id"].as_str().unwrap().len(), 27);
    assert_eq!(
        page["page_info"],
        json!({"total_count": 2, "count": 2, "start_cursor": "1750593600002-0", "end_cursor": "1750593600001-0"})
    );
}

#[tokio::test]
async fn the_streams_of_a_source_are_listed() {
    let wire = wire().await;
    let source = counted(&wire, 2).await;

    let streams = wire.get(&format!("{source}/streams")).await.data();

    let stream = |name: &str, events: u64| json!({"name": name, "events": events});
    assert_eq!(streams, json!([stream("default", 2), stream("$errors", 0), stream("$logs", 0)]));
}

#[tokio::test]
async fn expand_takes_event_and_nothing_else() {
    let wire = wire().await;
    let source = counted(&wire, 1).await;

    assert_eq!(wire.get(&format!("{source}/event_summaries?expand=event")).await.status, 200);
    assert_eq!(wire.get(&format!("{source}/event_summaries?expand=all")).await.status, 400);
}

#[tokio::test]
async fn events_in_short_form_are_e_k_ts_and_id() {
    let wire = wire().await;
    let source = counted(&wire, 1).await;

    let events = wire.get(&format!("{source}/events")).await.data();

    assert_eq!(events, json!([{"e": {"n": 1}, "k": "emit", "ts": 1_750_593_600_001_u64, "id": "1750593600001-0"}]));
}

#[tokio::test]
async fn deleting_events_answers_202_without_a_body() {
    let wire = wire().await;
    let source = counted(&wire, 3).await;
    let left = async || wire.get(&format!("{source}/event_summaries")).await.data().as_array().unwrap().len();

    let one = wire.delete(&format!("{source}/events?start_id=1750593600002-0&end_id=1750593600002-0")).await;
    let two_left = left().await;
    let all = wire.delete(&format!("{source}/events")).await;

    assert_eq!((one.status, one.text.as_str(), two_left, all.status, left().await), (202, "", 2, 202, 0));
}

#[tokio::test]
async fn a_deletion_with_an_empty_null_or_misspelled_parameter_is_400_and_deletes_nothing() {
    let wire = wire().await;
    let source = counted(&wire, 2).await;

    for (query, code) in [
        ("start_id=", "invalid_parameter"),
        ("end_id", "invalid_parameter"),
        ("event_name=", "invalid_parameter"),
        ("start_id=1750593600002-0&end_id=", "invalid_parameter"),
        ("start=1750593600002-0", "unknown_parameter"),
        ("startId=1750593600002-0", "unknown_parameter"),
    ] {
        let reply = wire.delete(&format!("{source}/events?{query}")).await;
        assert_eq!(reply.refusal(), (400, code.into()), "{query}");
    }
    let null = wire.call("DELETE", &format!("{source}/events"), &wire.admin, Some(json!({"start_id": null}))).await;
    assert_eq!(null.refusal(), (400, "invalid_parameter".into()));
    let typo = wire.delete(&format!("{source}/events?strat_id=1750593600002-0")).await.json();
    assert_eq!(typo["error"], "there is no parameter `strat_id` here; did you mean `start_id`?");
    let left = wire.get(&format!("{source}/event_summaries")).await.data();
    assert_eq!(left.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn no_deletion_takes_a_parameter_that_is_unknown_or_empty() {
    let wire = wire().await;
    let deletions = crate::routes::table().into_iter().filter(|route| route.method == hyper::Method::DELETE);

    for route in deletions {
        let path = route.path.replace(['{', '}'], "");
        assert_eq!(wire.delete(&format!("{path}?everything=1")).await.refusal(), (400, "unknown_parameter".into()));
        for parameter in route.query.iter().filter(|parameter| !parameter.may_be_empty) {
            let empty = wire.delete(&format!("{path}?{}=", parameter.name)).await;
            assert_eq!(empty.refusal(), (400, "invalid_parameter".into()), "{path} {}", parameter.name);
        }
    }
}

#[tokio::test]
async fn logs_and_errors_are_streams_of_a_source() {
    let wire = wire().await;
    let source = counted(&wire, 0).await;
    wire.world.sandbox.script("counts", |_| platform::fake::threw("boom"));
    wire.post(&format!("{source}/run"), json!({})).await.data();

    let errors = wire.get(&format!("{source}/event_summaries?event_name=$errors")).await.data();
    let logs = wire.get(&format!("{source}/logs")).await.data();
    let as_events = wire.get(&format!("{source}/event_summaries?event_name=%24logs")).await.data();
    let default = wire.get(&format!("{source}/event_summaries")).await.data();

    assert_eq!(errors[0]["metadata"]["name"], "$errors");
    assert_eq!((&logs[0]["level"], &as_events[0]["metadata"]["name"]), (&json!("error"), &json!("$logs")));
    assert_eq!(default, json!([]));
}

#[tokio::test]
async fn a_workflow_has_summaries_of_its_events_and_errors() {
    use platform::records::{Event, Metadata, StreamEntry, Workflow, table};
    use store::{Batch, Op, Store};
    let wire = wire().await;
    let workflow = domain::ids::WorkflowId::parse("p_Ab12Cd34Ef56").unwrap();
    let record = Workflow {
        id: workflow.clone(),
        name: "w".into(),
        is_active: true,
        version: 1,
        triggers: Vec::new(),
        project: None,
        created_at: 0,
        updated_at: 0,
    };
    let event = |name: &str, event: Value| {
        let metadata = Metadata {
            emit_id: "e".into(),
            name: name.into(),
            emitter_id: workflow.to_string(),
            id: None,
            summary: None,
            ts: None,
            run_id: None,
        };
        Event { event: event.into(), metadata }.encode().unwrap()
    };
    let append =
        |stream: &str, value| Op::Append { emitter: workflow.to_string(), stream: stream.into(), value, keep: 100 };
    let batch = Batch::new(&wire.admin.tenant, 5)
        .then(table::put(&record).unwrap())
        .then(append("default", event("", json!({"raw_event": {"a": 1}}))))
        .then(append("$errors", event("$errors", json!({"error": {"code": "x"}}))));
    wire.world.store.commit(batch).await.unwrap();

    let events = wire.get("/v1/workflows/p_Ab12Cd34Ef56/event_summaries").await.data();
    let errors = wire.get("/v1/workflows/p_Ab12Cd34Ef56/$errors/event_summaries").await.data();
    let listed = wire.get("/v1/users/me/workflows").await.data();

    assert_eq!(events[0]["event"], json!({"raw_event": {"a": 1}}));
    assert_eq!(
        (&errors[0]["event"]["error"]["code"], &errors[0]["metadata"]["name"]),
        (&json!("x"), &json!("$errors"))
    );
    assert_eq!(listed[0]["name"], "w");
}

#[tokio::test]
async fn a_kept_event_is_delivered_again_to_its_listeners_or_to_one() {
    let wire = wire().await;
    let source = counted(&wire, 1).await;
    let (first, second) = (wire.webhook().await, wire.webhook().await);
    let emitter = source.rsplit('/').next().unwrap();
    wire.post("/v1/subscriptions", json!({"emitter_id": emitter, "listener_id": id(&first)})).await.data();
    let path = format!("{source}/events/1750593600001-0/redeliver");

    let all = wire.post(&path, json!({})).await.data();
    let one = wire.post(&path, json!({"listener_id": id(&second), "event_name": "default"})).await.data();

    assert_eq!(all, json!({"event_id": "1750593600001-0", "listeners": [id(&first)]}));
    assert_eq!(one["listeners"], json!([id(&second)]));
    let refusal = async |path: &str, body: Value| wire.post(path, body).await.refusal();
    let missing = refusal(&format!("{source}/events/1-0/redeliver"), json!({})).await;
    assert_eq!(missing, (404, "event_not_found".into()));
    assert_eq!(refusal(&path, json!({"listener_id": "wh_Ab12Cd34Ef56"})).await, (404, "webhook_not_found".into()));
    assert_eq!(refusal(&path, json!({"listener_id": "elsewhere"})).await.0, 400);
    let stranger = wire.world.user(&wire.admin, "stranger").await;
    let foreign = wire.call("POST", "/v1/webhooks", &stranger, Some(json!({"url": "https://example.com/h"}))).await;
    let to_foreign = refusal(&path, json!({"listener_id": id(&foreign.data())})).await;
    assert_eq!(to_foreign, (404, "webhook_not_found".into()), "nothing is sent to what another account has");
    let audited = wire.get("/v1/audit").await.data();
    assert!(audited.to_string().contains("/redeliver"), "{audited}");
}
