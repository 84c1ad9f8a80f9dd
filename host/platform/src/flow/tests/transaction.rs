//! A run is a transaction on its `db`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use store::{Batch, CommitError, Op, Reads, Store};

use super::{Hold, Stage};
use crate::Error;
use crate::fake::{CommitFault, emit, meddled, returned, threw};
use crate::flow::{Answer, Config, Flow, Refusal};
use crate::manage::state;
use crate::ports::{Fault, Outcome, Reply, RunServices, Write};
use crate::records::{Source, names};

fn set(key: &str, value: &Value) -> Write {
    Write { key: key.into(), value: Some(value.to_string()) }
}

async fn number(services: &Arc<dyn RunServices>, key: &str) -> u64 {
    services.db_get(key).await.unwrap().map_or(0, |text| text.parse().unwrap())
}

async fn stored(stage: &Stage, source: &Source, key: &str) -> Option<String> {
    let scope = names::db(&source.id);
    let values = stage.world.store.values(&stage.caller.tenant, &scope, &[key.to_owned()]).await.unwrap();
    values.found[0].as_ref().map(|value| String::from_utf8(value.to_vec()).unwrap())
}

/// Adds one to `n` and emits the sum. The first runs, `held` of them, stop after they have read.
fn script_counter(stage: &Stage, hold: &Hold, held: u32, asks_outside: bool) -> Arc<AtomicU32> {
    let (hold, executed) = (hold.clone(), Arc::new(AtomicU32::new(0)));
    let counted = executed.clone();
    stage.world.sandbox.script_async("counter", move |_, services| {
        let (hold, executed) = (hold.clone(), executed.clone());
        async move {
            let execution = executed.fetch_add(1, Ordering::SeqCst);
            let next = number(&services, "n").await + 1;
            if asks_outside && services.before_request(Vec::new()).await.is_err() {
                return returned(&json!("ended by its transaction"));
            }
            if execution < held {
                hold.pass().await;
            }
            Outcome { emits: vec![emit(&json!(next))], writes: vec![set("n", &json!(next))], ..returned(&json!(null)) }
        }
    });
    counted
}

#[tokio::test]
async fn a_run_whose_reads_went_stale_is_executed_again() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let executed = script_counter(&stage, &hold, 2, false);
    let source = stage.endpoint("counter", json!({})).await;
    let first = stage.post_aside(&source, json!({}));
    hold.started.notified().await;
    let second = stage.post_aside(&source, json!({}));
    hold.started.notified().await;

    hold.released.notify_one();
    hold.released.notify_one();
    hold.released.notify_waiters();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();

    assert_eq!(stage.stream(&source, "default").await, [json!(1), json!(2)]);
    assert_eq!(stored(&stage, &source, "n").await.as_deref(), Some("2"));
    assert_eq!(executed.load(Ordering::SeqCst), 3);
}

/// The run's first commit is never answered, and its deadline comes `late_ms` after it asked.
async fn post_to_a_store_that_hangs(late_ms: u64) -> (Result<Answer, Refusal>, usize) {
    let mut stage = Stage::new().await;
    let clock = stage.world.clock.clone();
    stage.world.sandbox.script_async("late", move |_, services| {
        let clock = clock.clone();
        async move {
            let asking = services.before_request(vec![set("n", &json!(1))]);
            assert!(asking.now_or_never().is_none(), "the store hangs");
            clock.advance(late_ms);
            Outcome { fault: Some(Fault::Deadline { limit: Duration::from_secs(30) }), ..Outcome::default() }
        }
    });
    let source = stage.endpoint("late", json!({})).await;
    let (hanging, _) = meddled(&stage.world.platform, |commit| match commit {
        0 => std::future::pending().boxed(),
        _ => std::future::ready(CommitFault::None).boxed(),
    });
    (stage.handle, _) = Flow::new(hanging, stage.world.chores(), Config::default());
    let answer = stage.post(&source, json!({})).await;
    (answer, stage.stream(&source, "$errors").await.len())
}

#[tokio::test]
async fn a_run_that_is_late_because_the_store_does_not_answer_has_not_failed() {
    let (kept_waiting, errors) = post_to_a_store_that_hangs(500).await;
    assert!(matches!(kept_waiting, Err(Refusal::Unavailable(_))), "{kept_waiting:?}");
    assert_eq!(errors, 0);

    let (late, errors) = post_to_a_store_that_hangs(499).await;
    assert!(matches!(late, Ok(Answer::Accepted)), "{late:?}");
    assert_eq!(errors, 1);
}

#[tokio::test]
async fn many_runs_at_once_lose_no_update() {
    let stage = Stage::new().await;
    script_counter(&stage, &Hold::default(), 0, false);
    let source = stage.endpoint("counter", json!({})).await;

    let posts: Vec<_> = (0..80).map(|_| stage.post_aside(&source, json!({}))).collect();
    for post in posts {
        post.await.unwrap().unwrap();
    }

    assert_eq!(stored(&stage, &source, "n").await.as_deref(), Some("80"));
}

#[tokio::test]
async fn after_a_request_other_runs_of_the_same_key_wait() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let executed = script_counter(&stage, &hold, 1, true);
    let source = stage.endpoint("counter", json!({})).await;
    let first = stage.post_aside(&source, json!({}));
    hold.started.notified().await;

    let posts: Vec<_> = (0..5).map(|_| stage.post_aside(&source, json!({}))).collect();
    tokio::task::yield_now().await;
    hold.released.notify_one();

    for post in posts {
        post.await.unwrap().unwrap();
    }
    first.await.unwrap().unwrap();
    assert_eq!(stage.stream(&source, "default").await, (1..=6).map(|n| json!(n)).collect::<Vec<_>>());
    let executed = executed.load(Ordering::SeqCst);
    assert!(executed <= 11, "each is repeated once at most, but there were {executed} executions");
}

/// Sets, removes or clears `n` by hand.
async fn change(stage: &Stage, source: &Source, how: &str) -> Result<(), Error> {
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, source.id.as_str());
    match how {
        "set" => state::set(caller, platform, id, "n", json!(7)).await.map(drop),
        "remove" => state::remove(caller, platform, id, "n").await,
        _ => state::clear(caller, platform, id).await,
    }
}

#[tokio::test]
async fn a_change_by_hand_waits_for_the_run_that_holds_the_value_and_not_forever() {
    for (how, left) in [("set", Some("7")), ("remove", None), ("clear", None)] {
        let (stage, hold) = (Stage::new().await, Hold::default());
        script_counter(&stage, &hold, 1, true);
        let source = stage.endpoint("counter", json!({})).await;
        change(&stage, &source, "set").await.unwrap();
        let posted = stage.post_aside(&source, json!({}));
        hold.started.notified().await;

        let mut late = Box::pin(change(&stage, &source, how));
        assert!((&mut late).now_or_never().is_none());
        stage.world.clock.advance(10_000);
        assert!(matches!(late.await, Err(Error::Held)), "{how}");
        let mut changed = Box::pin(change(&stage, &source, how));
        assert!((&mut changed).now_or_never().is_none());
        hold.released.notify_one();
        posted.await.unwrap().unwrap();
        stage.world.clock.advance(20);
        changed.await.unwrap();

        assert_eq!(stage.stream(&source, "default").await, [json!(8)], "{how}: the run lost nothing");
        assert_eq!(stored(&stage, &source, "n").await.as_deref(), left, "{how}");
    }
}

/// Whether another host could lock the key now.
async fn is_free(stage: &Stage, source: &Source, key: &str) -> bool {
    let now_ms = stage.now_ms();
    let (scope, key) = (names::db(&source.id), key.to_owned());
    let lock = Op::Lock { scope, key, until_ms: now_ms + 1 };
    let mut batch = Batch::new(&stage.caller.tenant, now_ms).then(lock);
    batch.lock_owner = Some("another run".to_owned());
    match stage.world.store.commit(batch).await {
        Ok(_) => true,
        Err(CommitError::Locked { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn locks_are_leases_that_last_while_their_host_renews_them() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    script_counter(&stage, &hold, 1, true);
    let source = stage.endpoint("counter", json!({})).await;
    let posted = stage.post_aside(&source, json!({}));
    hold.started.notified().await;

    for _ in 0..6 {
        stage.world.clock.advance(5000);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert!(!is_free(&stage, &source, "n").await, "the run is still under way");
    }
    // Nothing is polled in between, as when the host has died.
    stage.world.clock.advance(15_000);
    assert!(is_free(&stage, &source, "n").await);

    hold.released.notify_one();
    posted.await.unwrap().unwrap();
}

#[tokio::test]
async fn runs_of_other_keys_do_not_wait() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let inside = hold.clone();
    stage.world.sandbox.script_async("keys", move |call, services| {
        let hold = inside.clone();
        async move {
            let key = call["event"]["key"].as_str().unwrap().to_owned();
            let next = number(&services, &key).await + 1;
            services.before_request(Vec::new()).await.unwrap();
            if key == "held" {
                hold.pass().await;
            }
            Outcome { writes: vec![set(&key, &json!(next))], ..returned(&json!(null)) }
        }
    });
    let source = stage.endpoint("keys", json!({})).await;
    let held = stage.post_aside(&source, json!({"key": "held"}));
    hold.started.notified().await;

    stage.post(&source, json!({"key": "other"})).await.unwrap();

    assert_eq!(stored(&stage, &source, "other").await.as_deref(), Some("1"));
    hold.released.notify_one();
    held.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_run_that_reads_a_locked_key_and_does_not_write_it_does_not_wait() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let inside = hold.clone();
    stage.world.sandbox.script_async("reads", move |call, services| {
        let hold = inside.clone();
        async move {
            let is_writer = call["event"]["writes"] == json!(true);
            if is_writer {
                let next = number(&services, "n").await + 1;
                services.before_request(vec![set("token", &json!("abc"))]).await.unwrap();
                hold.pass().await;
                return Outcome { writes: vec![set("n", &json!(next))], ..returned(&json!(null)) };
            }
            let seen = json!([number(&services, "n").await.to_string(), services.db_get("token").await.unwrap()]);
            Outcome { emits: vec![emit(&seen)], ..returned(&json!(null)) }
        }
    });
    let source = stage.endpoint("reads", json!({})).await;
    let writer = stage.post_aside(&source, json!({"writes": true}));
    hold.started.notified().await;

    // The other side of the writer's request calls back, and finds what was written before it was sent.
    stage.post(&source, json!({})).await.unwrap();

    assert_eq!(stage.stream(&source, "default").await, [json!(["0", "\"abc\""])]);
    hold.released.notify_one();
    writer.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_component_can_opt_out() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let executed = script_counter(&stage, &hold, 2, true);
    let db = json!({"type": "$.service.db", "isolation": "none"});
    let source = stage.endpoint("counter", json!({"props": {"http": {"type": "$.interface.http"}, "db": db}})).await;
    let first = stage.post_aside(&source, json!({}));
    hold.started.notified().await;
    let second = stage.post_aside(&source, json!({}));
    hold.started.notified().await;

    hold.released.notify_one();
    first.await.unwrap().unwrap();
    hold.released.notify_one();
    second.await.unwrap().unwrap();

    assert_eq!(stored(&stage, &source, "n").await.as_deref(), Some("1"));
    assert_eq!(executed.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_early_response_rests_on_values_that_hold() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let inside = hold.clone();
    let executed = Arc::new(AtomicU32::new(0));
    stage.world.sandbox.script_async("answers", move |_, services| {
        let (hold, execution) = (inside.clone(), executed.fetch_add(1, Ordering::SeqCst));
        async move {
            let next = number(&services, "n").await + 1;
            services.reply(Reply { status: 200, headers: Vec::new(), body: next.to_string().into() });
            // The first stays until it is answered; the second ends in between.
            if execution == 0 {
                hold.pass().await;
            }
            Outcome { writes: vec![set("n", &json!(next))], ..returned(&json!(null)) }
        }
    });
    let props = json!({"props": {"http": {"type": "$.interface.http", "customResponse": true}}});
    let source = stage.endpoint("answers", props).await;
    let slow = stage.post_aside(&source, json!({}));
    hold.started.notified().await;
    let quick = stage.post(&source, json!({})).await.unwrap();

    stage.world.clock.advance(5);
    let slow = slow.await.unwrap().unwrap();

    let body = |answer: Answer| match answer {
        Answer::Replied(reply) => reply.body,
        Answer::Accepted => panic!("not answered by the component"),
    };
    assert_eq!((body(quick), body(slow)), ("1".into(), "2".into()));
    assert_eq!(stored(&stage, &source, "n").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn an_atomic_run_that_throws_leaves_only_its_error() {
    let stage = Stage::new().await;
    stage.world.sandbox.script_async("atomic", |_, services| async move {
        let kept = services.before_request(vec![set("before", &json!(1))]).await.unwrap();
        services.reply(Reply { status: 200, headers: Vec::new(), body: "too early".into() });
        let writes = kept.into_iter().chain([set("after", &json!(1))]).collect();
        Outcome { emits: vec![emit(&json!(1))], writes, ..threw("no") }
    });
    let props = json!({"http": {"type": "$.interface.http", "customResponse": true}});
    let source = stage.endpoint("atomic", json!({"atomic": true, "props": props})).await;

    let answer = stage.post(&source, json!({})).await;

    assert!(matches!(answer, Err(Refusal::NoResponse { .. })), "{answer:?}");
    assert_eq!(stage.stream(&source, "default").await, Vec::<Value>::new());
    assert_eq!((stored(&stage, &source, "before").await, stored(&stage, &source, "after").await), (None, None));
    assert_eq!(stage.stream(&source, names::ERRORS).await.len(), 1);
}

#[tokio::test]
async fn a_run_reads_a_bounded_number_of_keys() {
    let stage = Stage::new().await;
    stage.world.sandbox.script_async("reader", |call, services| async move {
        let keys = call["event"]["keys"].as_u64().unwrap();
        for key in 0..keys {
            if services.db_get(&key.to_string()).await.is_err() {
                return returned(&json!("ended by its transaction"));
            }
        }
        Outcome { emits: vec![emit(&json!(keys))], ..returned(&json!(null)) }
    });
    let source = stage.endpoint("reader", json!({})).await;

    stage.post(&source, json!({"keys": 10_000})).await.unwrap();
    stage.post(&source, json!({"keys": 10_001})).await.unwrap();

    assert_eq!(stage.stream(&source, "default").await, [json!(10_000)]);
    let errors = stage.stream(&source, names::ERRORS).await;
    assert!(errors[0].to_string().contains("keys of `db` read in one run"), "{errors:?}");
}
