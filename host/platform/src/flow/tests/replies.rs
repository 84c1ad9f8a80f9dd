//! What a component responded counts with what else it did: its client is not told of success when a run is rolled back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::workflow::ANSWER_NOW;
use serde_json::{Value, json};

use super::workflow_runs::{code, deploy};
use super::{Hold, Stage};
use crate::fake::{World, component, emit, returned, threw};
use crate::flow::{Answer, Config, Refusal};
use crate::manage::runs::{RunQuery, of_source};
use crate::manage::sources;
use crate::manage::workflows::{self, RunListQuery};
use crate::ports::{Outcome, Reply, Write};
use crate::records::{RunRecord, Source, TriggerRecordKind, Workflow};

fn custom() -> Value {
    json!({"props": {"http": {"type": "$.interface.http", "customResponse": true}}})
}

fn reply(status: u16) -> Reply {
    Reply { status, headers: Vec::new(), body: "hi".into() }
}

fn write(key: &str, bytes: u64) -> Write {
    Write { key: key.into(), value: Some("x".repeat(usize::try_from(bytes).unwrap())) }
}

/// Values of a source or a step take ten bytes at most.
async fn narrow() -> Stage {
    Stage::with(World::new(|config| config.limits.db_source_bytes = 10), Config::default()).await
}

async fn newest_record(stage: &Stage, source: &Source) -> RunRecord {
    let query = RunQuery::default();
    let kept = of_source(&stage.caller, &stage.world.platform, source.id.as_str(), &query).await.unwrap();
    kept.items.into_iter().next().unwrap().record
}

/// Responds with 200, and does as its event says.
fn script_told(stage: &Stage) {
    stage.world.sandbox.script_async("told", |call, services| async move {
        services.reply(reply(200));
        let told = |name: &str| call["event"][name].as_u64().unwrap_or_default();
        for key in 0..told("reads") {
            if services.db_get(&key.to_string()).await.is_err() {
                return returned(&json!("ended by its transaction"));
            }
        }
        let flushed = write("flushed", told("flushes"));
        if told("flushes") > 0 && services.before_request(vec![flushed]).await.is_err() {
            return returned(&json!("ended by its transaction"));
        }
        let emits = (0..told("emits")).map(|number| emit(&json!(number))).collect();
        Outcome { emits, writes: vec![write("k", told("writes"))], ..returned(&json!(null)) }
    });
}

#[tokio::test]
async fn what_a_source_responded_does_not_count_when_its_run_is_rolled_back() {
    let stage = narrow().await;
    script_told(&stage);
    let source = stage.endpoint("told", custom()).await;
    for number in 0..6 {
        stage.webhook(&format!("https://example.com/{number}")).await;
    }

    let kept = stage.post(&source, json!({"writes": 9, "emits": 1})).await;
    assert!(matches!(kept, Ok(Answer::Replied(_))), "{kept:?}");
    let rolled_back =
        [json!({"writes": 10}), json!({"flushes": 100}), json!({"reads": 10_001}), json!({"emits": 10_000})];
    for event in rolled_back {
        // Records are listed by when their runs began.
        stage.world.clock.advance(1000);
        let answer = stage.post(&source, event.clone()).await;
        assert!(matches!(answer, Err(Refusal::NoResponse { .. })), "{event}: {answer:?}");
        assert_eq!(newest_record(&stage, &source).await.reply_status, None, "{event}");

        let (caller, platform) = (&stage.caller, &stage.world.platform);
        let by_hand = sources::run(caller, platform, source.id.as_str(), event.clone()).await.unwrap();
        assert_eq!((by_hand.ok, by_hand.reply.is_none()), (false, true), "{event}");
    }
}

#[tokio::test]
async fn what_was_answered_before_a_run_was_rolled_back_stays_in_its_record() {
    let (stage, hold) = (narrow().await, Hold::default());
    let inside = hold.clone();
    stage.world.sandbox.script_async("answers", move |_, services| {
        let inside = inside.clone();
        async move {
            services.reply(reply(200));
            inside.pass().await;
            Outcome { writes: vec![write("k", 100)], ..returned(&json!(null)) }
        }
    });
    let source = stage.endpoint("answers", custom()).await;

    let answer = stage.post_held(&source, &hold).await;
    hold.released.notify_one();
    stage.wait_for_runs().await;

    assert_eq!(answer, Answer::Replied(reply(200)));
    let record = newest_record(&stage, &source).await;
    assert_eq!((record.reply_status, record.error.is_some()), (Some(200), true));
}

#[tokio::test]
async fn an_attempt_that_does_not_respond_leaves_nothing_of_what_the_one_before_responded() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let inside = hold.clone();
    stage.world.sandbox.script_async("once", move |call, services| {
        let inside = inside.clone();
        async move {
            let found = services.db_get("n").await.unwrap();
            if call["event"] == json!("slow") && found.is_none() {
                services.reply(reply(200));
                inside.pass().await;
            }
            Outcome { writes: vec![write("n", 1)], ..returned(&json!(null)) }
        }
    });
    let source = stage.endpoint("once", custom()).await;
    let slow = stage.post_aside(&source, json!("slow"));
    hold.started.notified().await;

    let quick = stage.post(&source, json!("quick")).await;
    hold.released.notify_one();
    let slow = slow.await.unwrap();

    assert!(matches!(quick, Err(Refusal::NoResponse { .. })), "{quick:?}");
    assert!(matches!(slow, Err(Refusal::NoResponse { .. })), "{slow:?}");
}

/// A step with values of its own.
fn stateful(name: &str) -> Value {
    json!({"namespace": name, "code": component(name, json!({"props": {"db": "$.service.db"}}))})
}

async fn http(stage: &Stage, settings: Value, steps: Value) -> Workflow {
    let triggers = json!([{"type": "http", "custom_response": true}]);
    deploy(stage, json!({"settings": settings, "triggers": triggers, "steps": steps})).await
}

async fn post(stage: &Stage, workflow: &Workflow) -> Result<Answer, Refusal> {
    let TriggerRecordKind::Http { key, .. } = &workflow.triggers[0].kind else { panic!("an endpoint") };
    let admitted = stage.handle.admit(key.as_str()).await?;
    stage.handle.trigger(admitted, json!({})).await.map(|answered| answered.answer)
}

async fn assert_not_answered(stage: &Stage, workflow: &Workflow, what: &str) {
    let answer = post(stage, workflow).await;
    assert!(matches!(answer, Err(Refusal::NotResponded { .. })), "{what}: {answer:?}");
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let by_hand = workflows::run(caller, platform, workflow.id.as_str(), json!({})).await.unwrap();
    assert!(by_hand.reply.is_none(), "{what}: {:?}", by_hand.reply);
}

fn replied(outcome: Outcome) -> Outcome {
    Outcome { has_replied: true, ..outcome }
}

#[tokio::test]
async fn what_a_step_responded_counts_once_it_is_committed_and_not_when_it_fails() {
    let stage = narrow().await;
    stage.world.sandbox.script_async("responds", |_, services| async move {
        services.reply(reply(200));
        replied(returned(&json!(null)))
    });
    stage.world.sandbox.script_async("throws", |_, services| async move {
        services.reply(reply(200));
        replied(threw("no"))
    });
    stage.world.sandbox.script_async("outgrows", |_, services| async move {
        services.reply(reply(200));
        replied(Outcome { writes: vec![write("k", 100)], ..returned(&json!(null)) })
    });
    stage.world.sandbox.script("fails", |_| threw("no"));
    let retried = json!({"auto_retry": true});

    let throws = http(&stage, json!({}), json!([code("throws")])).await;
    let is_tried_again = http(&stage, retried, json!([code("throws")])).await;
    let outgrows = http(&stage, json!({}), json!([stateful("outgrows")])).await;
    let goes_on = http(&stage, json!({}), json!([stateful("outgrows"), code("responds")])).await;
    assert_not_answered(&stage, &throws, "a step that throws").await;
    assert_not_answered(&stage, &is_tried_again, "a step that will be tried again").await;
    assert_not_answered(&stage, &outgrows, "a last step that does not fit").await;
    assert_not_answered(&stage, &goes_on, "a step that does not fit").await;

    let fails_later = http(&stage, json!({}), json!([code("responds"), code("fails")])).await;
    let answer = post(&stage, &fails_later).await;
    assert_eq!(answer.unwrap(), Answer::Replied(reply(200)), "that step was committed");
}

/// Adds one to `n` and responds with 200 and the sum; the first execution is held after that.
fn script_count(stage: &Stage, hold: &Hold) {
    let (hold, executed) = (hold.clone(), Arc::<AtomicUsize>::default());
    stage.world.sandbox.script_async("counts", move |_, services| {
        let (hold, is_first) = (hold.clone(), executed.fetch_add(1, Ordering::SeqCst) == 0);
        async move {
            let next = services.db_get("n").await.unwrap().map_or(0, |text| text.parse::<u16>().unwrap()) + 1;
            services.reply(reply(200 + next));
            if is_first {
                hold.pass().await;
            }
            let writes = vec![Write { key: "n".into(), value: Some(next.to_string()) }];
            replied(Outcome { writes, ..returned(&json!(null)) })
        }
    });
}

#[tokio::test]
async fn what_a_step_responded_is_not_sent_with_what_another_step_commits() {
    let (stage, counts, asks) = (Stage::new().await, Hold::default(), Hold::default());
    script_count(&stage, &counts);
    let (inside, executed) = (asks.clone(), Arc::<AtomicUsize>::default());
    stage.world.sandbox.script_async("asks", move |_, services| {
        let (hold, is_first) = (inside.clone(), executed.fetch_add(1, Ordering::SeqCst) == 0);
        async move {
            if is_first {
                hold.released.notified().await;
            }
            services.before_request(Vec::new()).await.unwrap();
            hold.started.notify_one();
            returned(&json!(null))
        }
    });
    let both = json!({"namespace": "both", "parallel": {
        "left": {"steps": [stateful("counts")]},
        "right": {"steps": [code("asks")]},
    }});
    let workflow = Arc::new(http(&stage, json!({}), json!([code("before"), both])).await);
    let TriggerRecordKind::Http { key, .. } = &workflow.triggers[0].kind else { panic!("an endpoint") };
    let (handle, key) = (stage.handle.clone(), key.clone());
    let slow = tokio::spawn(async move {
        let admitted = handle.admit(key.as_str()).await?;
        handle.trigger(admitted, json!({})).await.map(|answered| answered.answer)
    });
    counts.started.notified().await;
    asks.released.notify_one();
    asks.started.notified().await;

    let quick = post(&stage, &workflow).await;
    counts.released.notify_one();
    let slow = slow.await.unwrap();

    assert_eq!(quick.unwrap(), Answer::Replied(reply(201)));
    assert_eq!(slow.unwrap(), Answer::Replied(reply(202)), "its first attempt did not count");
}

/// `$.respond` with `immediate`: asks the host for an answer of its own.
#[tokio::test]
async fn an_immediate_response_does_not_wait_for_its_step_and_counts_only_when_what_was_before_does() {
    let stage = narrow().await;
    stage.world.sandbox.script_async("at_once", |_, services| async move {
        services.reply(reply(202));
        match services.db_get(ANSWER_NOW).await {
            Ok(_) => replied(threw("later")),
            Err(_) => replied(threw("what was before it is not durable")),
        }
    });
    stage.world.sandbox.script("outgrows", |_| Outcome { writes: vec![write("k", 100)], ..returned(&json!(null)) });
    let answers = http(&stage, json!({}), json!([code("before"), code("at_once")])).await;
    let outgrows = http(&stage, json!({}), json!([stateful("outgrows"), code("at_once")])).await;

    assert_eq!(post(&stage, &answers).await.unwrap(), Answer::Replied(reply(202)));
    assert_not_answered(&stage, &outgrows, "what was before it does not fit").await;
    let (caller, platform, query) = (&stage.caller, &stage.world.platform, RunListQuery::default());
    let listed = workflows::list_runs(caller, platform, outgrows.id.as_str(), &query).await.unwrap();
    assert_eq!(listed.items.len(), 2, "each run ends once");
}
