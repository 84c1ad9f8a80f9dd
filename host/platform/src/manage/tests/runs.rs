//! Tests of runs.

use serde_json::{Value, json};

use super::{deploy, world};
use crate::Error;
use crate::fake::{World, component, emit, emit_with, returned};
use crate::manage::events::{self, EventQuery};
use crate::manage::{sources, users};
use crate::ports::{Outcome, Reply, Write};

#[tokio::test]
async fn a_run_answers_with_what_it_emitted_logged_and_cost() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("echo", json!({})), json!({})).await.unwrap();

    let run = sources::run(&caller, &world.platform, source.id.as_str(), json!({"a": 1})).await.unwrap();

    assert_eq!((run.ok, run.emitted_count, run.run_id.len()), (true, 1, 27));
    assert_eq!(run.emitted[0].event, json!({"a": 1}));
    assert_eq!((run.duration_ms, run.compute_ms, run.fuel_used), (2, 2, 1000));
}

#[tokio::test]
async fn a_run_by_hand_tells_what_the_source_responded() {
    let (world, caller) = world().await;
    let http = json!({"props": {"http": {"type": "$.interface.http", "customResponse": true}}});
    let source = deploy(&world, &caller, &component("web", http), json!({})).await.unwrap();
    world.sandbox.script_async("web", |call, services| async move {
        if call["event"]["answer"] == true {
            let headers = vec![("content-type".to_owned(), "image/png".to_owned())];
            services.reply(Reply { status: 418, headers, body: (&b"\xff\x00"[..]).into() });
        }
        returned(&Value::Null)
    });
    let run = async |event| json!(sources::run(&caller, &world.platform, source.id.as_str(), event).await.unwrap());

    let expected = json!({"status": 418, "headers": {"content-type": "image/png"}, "body": "/wA=", "is_base64": true});
    assert_eq!(run(json!({"answer": true})).await["reply"], expected);
    assert_eq!(run(json!({})).await["reply"], Value::Null);
}

#[tokio::test]
async fn emits_with_a_time_leave_oldest_first() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("dated", json!({})), json!({})).await.unwrap();
    world.sandbox.script("dated", |_| Outcome {
        emits: [3, 1, 2].map(|ts| emit_with(&json!(ts), json!({"ts": ts}))).to_vec(),
        ..returned(&Value::Null)
    });

    let run = sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();

    assert_eq!(run.emitted.iter().map(|one| one.event.clone()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test]
async fn an_event_with_an_id_that_was_emitted_is_dropped_in_the_next_run_too() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("unique", json!({"dedupe": "unique"})), json!({})).await.unwrap();
    world.sandbox.script("unique", |call| {
        let ids = call["event"].as_array().unwrap().clone();
        let emits = ids.into_iter().map(|id| emit_with(&id, json!({"id": id}))).collect();
        Outcome { emits, ..returned(&Value::Null) }
    });
    let run =
        async |ids: Value| sources::run(&caller, &world.platform, source.id.as_str(), ids).await.unwrap().emitted_count;

    assert_eq!((run(json!([1, 2, 1])).await, run(json!([2, 3])).await), (2, 1));
}

#[tokio::test]
async fn an_emit_without_an_id_is_rejected_aloud_when_the_source_deduplicates() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("unique", json!({"dedupe": "unique"})), json!({})).await.unwrap();
    world.sandbox.script("unique", |_| Outcome { emits: vec![emit(&json!(1))], ..returned(&Value::Null) });

    let run = sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();

    let errors = EventQuery { event_name: Some("$errors".into()), ..EventQuery::default() };
    let errors = events::of_source(&caller, &world.platform, source.id.as_str(), &errors).await.unwrap();
    assert_eq!(run.emitted_count, 0);
    assert_eq!(errors.items[0].event["error"]["code"], "emit_rejected");
    assert!(run.logs[0].message.contains("every emit needs an id"));
}

#[tokio::test]
async fn an_emit_whose_id_is_no_text_or_number_is_rejected_aloud() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("plain", json!({})), json!({})).await.unwrap();
    world.sandbox.script("plain", |_| Outcome {
        emits: [json!({}), json!([]), json!(true), json!("fine")]
            .map(|id| emit_with(&json!(1), json!({"id": id})))
            .into(),
        ..returned(&Value::Null)
    });

    let run = sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();

    let errors = EventQuery { event_name: Some("$errors".into()), ..EventQuery::default() };
    let errors = events::of_source(&caller, &world.platform, source.id.as_str(), &errors).await.unwrap();
    let rejected = errors.items.iter().filter(|event| event.event["error"]["code"] == "emit_rejected").count();
    assert_eq!((run.emitted_count, rejected), (1, 3));
    assert!(run.logs[0].message.ends_with("its id must be a string or a number, and is an object"), "{:?}", run.logs);
}

#[tokio::test]
async fn runs_at_the_same_time_emit_each_id_once() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("unique", json!({"dedupe": "unique"})), json!({})).await.unwrap();
    world.sandbox.script("unique", |_| Outcome {
        emits: (0..50).map(|id| emit_with(&json!(id), json!({"id": id}))).collect(),
        ..returned(&Value::Null)
    });

    let run = || sources::run(&caller, &world.platform, source.id.as_str(), json!({}));
    let runs = futures_util::future::join_all((0..8).map(|_| run())).await;

    let emitted: usize = runs.into_iter().map(|run| run.unwrap().emitted_count).sum();
    assert_eq!(emitted, 50);
}

#[tokio::test]
async fn what_a_run_stores_is_there_in_the_next_one() {
    let (world, caller) = world().await;
    let code = component("db", json!({"props": {"db": "$.service.db"}}));
    let source = deploy(&world, &caller, &code, json!({})).await.unwrap();
    world.sandbox.script_async("db", |_, services| async move {
        let before: u64 = services.db_get("n").await.unwrap().map_or(0, |text| text.parse().unwrap());
        let write = |value: u64| Write { key: "n".into(), value: Some(value.to_string()) };
        Outcome {
            writes: vec![write(99), write(before + 1)],
            emits: vec![emit(&json!(before))],
            ..returned(&Value::Null)
        }
    });
    let run = async || sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap().emitted;

    let (first, second) = (run().await, run().await);

    assert_eq!((&first[0].event, &second[0].event), (&json!(0), &json!(1)));
}

#[tokio::test]
async fn a_run_that_outgrows_its_store_fails_and_stores_nothing() {
    let world = World::new(|config| config.limits.db_source_bytes = 10);
    let caller = world.admin().await;
    let source = deploy(&world, &caller, &component("db", json!({})), json!({})).await.unwrap();
    world.sandbox.script("db", |call| {
        let value = Some("x".repeat(usize::try_from(call["event"].as_u64().unwrap()).unwrap()));
        let writes = vec![Write { key: "k".into(), value }];
        Outcome { writes, emits: vec![emit(&json!(1))], ..returned(&Value::Null) }
    });
    let run = async |size: u64| sources::run(&caller, &world.platform, source.id.as_str(), json!(size)).await.unwrap();

    let (at_the_bound, beyond) = (run(9).await, run(10).await);

    assert!(at_the_bound.ok);
    assert_eq!((beyond.ok, beyond.emitted_count), (false, 0));
    assert_eq!(beyond.error.unwrap()["code"], "too_much_output");
}

#[tokio::test]
async fn a_used_up_quota_refuses_runs_until_midnight() {
    let world = World::new(|config| config.default_quotas.daily_invocations = 2);
    let caller = world.admin().await;
    let source = deploy(&world, &caller, &component("echo", json!({})), json!({})).await.unwrap();
    let run = async || sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await;

    run().await.unwrap();
    run().await.unwrap();
    let refused = run().await.unwrap_err();
    let used = json!(users::me(&caller, &world.platform).await.unwrap());
    world.clock.advance(12 * 3600 * 1000);

    assert!(matches!(refused, Error::Quota(_)));
    assert_eq!((&used["daily_invocations_used"], &used["daily_compute_time_used"]), (&json!(2), &json!(6)));
    run().await.unwrap();
}

#[tokio::test]
async fn a_failing_sandbox_is_our_failure_and_commits_nothing() {
    let (world, caller) = world().await;

    let error = deploy(&world, &caller, "sandbox down", json!({})).await.unwrap_err();

    assert!(matches!(error, Error::Sandbox(_)));
}
