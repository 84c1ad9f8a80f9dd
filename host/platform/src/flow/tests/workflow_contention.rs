//! Runs of a workflow that change the same values at the same time: each comes to its end, and none waits for a hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use serde_json::{Value, json};
use store::Reads;

use super::workflow_runs::{code, deploy};
use super::{Hold, Stage};
use crate::fake::{component, returned};
use crate::flow::{Answer, Refusal};
use crate::manage::data_stores;
use crate::manage::workflows::{self, RunListQuery};
use crate::ports::{Outcome, RunServices, Write};
use crate::records::{TriggerRecordKind, Workflow, names};

const RUNS: usize = 40;

/// Adds one to the value of a key, and lets others run in between.
async fn add_one(services: &Arc<dyn RunServices>, key: String) -> Outcome {
    let value = services.db_get(&key).await.unwrap().map_or(0, |text| text.parse::<u64>().unwrap());
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let writes = vec![Write { key, value: Some((value + 1).to_string()) }];
    Outcome { writes, ..returned(&json!(value + 1)) }
}

/// A step that adds one to its `n`; how often it was executed.
fn script_counter(stage: &Stage, name: &str) -> Arc<AtomicUsize> {
    let executed = Arc::<AtomicUsize>::default();
    let counted = executed.clone();
    stage.world.sandbox.script_async(name, move |_, services| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { add_one(&services, "n".to_owned()).await }
    });
    executed
}

fn counter(name: &str) -> Value {
    json!({"namespace": name, "code": component(name, json!({"props": {"db": "$.service.db"}}))})
}

async fn http(stage: &Stage, steps: &[Value]) -> Workflow {
    deploy(stage, json!({"triggers": [{"type": "http"}], "steps": steps})).await
}

async fn post(stage: &Stage, workflow: &Workflow) -> Result<Answer, Refusal> {
    let TriggerRecordKind::Http { key, .. } = &workflow.triggers[0].kind else { panic!("an endpoint") };
    let admitted = stage.handle.admit(key.as_str()).await?;
    stage.handle.trigger(admitted, json!({})).await.map(|answered| answered.answer)
}

async fn counted(stage: &Stage, workflow: &Workflow, step: &str) -> String {
    let scope = names::db_of_step(&workflow.id, step);
    let values = stage.world.store.values(&stage.caller.tenant, &scope, &["n".to_owned()]).await.unwrap();
    values.found[0].as_ref().map(|value| String::from_utf8(value.to_vec()).unwrap()).unwrap_or_default()
}

async fn assert_all_succeeded(stage: &Stage, workflow: &Workflow, expected: usize) {
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let query = RunListQuery { limit: domain::paging::Limit::parse_text("100").unwrap(), ..RunListQuery::default() };
    let listed = workflows::list_runs(caller, platform, workflow.id.as_str(), &query).await.unwrap();
    let states: Vec<&str> = listed.items.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, vec!["success"; expected]);
}

#[tokio::test]
async fn requests_at_once_to_a_workflow_with_shared_state_are_all_accepted_and_lose_no_update() {
    let stage = Stage::new().await;
    let executed = [script_counter(&stage, "a"), script_counter(&stage, "b")];
    let workflow = http(&stage, &[counter("a"), code("between"), counter("b")]).await;

    let answers = join_all((0..RUNS).map(|_| post(&stage, &workflow))).await;
    stage.wait_for_runs().await;

    assert!(answers.iter().all(|answer| matches!(answer, Ok(Answer::Accepted))), "{answers:?}");
    assert_eq!(counted(&stage, &workflow, "a").await, RUNS.to_string());
    assert_eq!(counted(&stage, &workflow, "b").await, RUNS.to_string());
    assert_all_succeeded(&stage, &workflow, RUNS).await;
    for executed in executed {
        let executed = executed.load(Ordering::Relaxed);
        assert!(executed <= 4 * RUNS, "{executed} executions of {RUNS} steps");
    }
}

#[tokio::test]
async fn runs_that_were_accepted_before_they_lost_end_without_waiting_for_their_holds() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    script_counter(&stage, "a");
    let inside = hold.clone();
    let first = Arc::<AtomicUsize>::default();
    stage.world.sandbox.script_async("slow", move |_, services| {
        let (hold, is_first) = (inside.clone(), first.fetch_add(1, Ordering::Relaxed) < 10);
        async move {
            let outcome = add_one(&services, "n".to_owned()).await;
            if is_first {
                hold.started.notify_one();
                hold.released.notified().await;
            }
            outcome
        }
    });
    let workflow = http(&stage, &[counter("slow"), counter("a")]).await;

    let posting = join_all((0..10).map(|_| post(&stage, &workflow)));
    let releasing = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        stage.world.clock.advance(5);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        hold.released.notify_waiters();
    };
    let (answers, ()) = tokio::join!(posting, releasing);
    stage.wait_for_runs().await;

    assert!(answers.iter().all(|answer| matches!(answer, Ok(Answer::Accepted))), "{answers:?}");
    assert_eq!(
        (counted(&stage, &workflow, "slow").await, counted(&stage, &workflow, "a").await),
        ("10".into(), "10".into())
    );
    assert_all_succeeded(&stage, &workflow, 10).await;
}

#[tokio::test]
async fn runs_by_hand_and_from_the_queue_lose_no_update() {
    let stage = Stage::new().await;
    script_counter(&stage, "a");
    let workflow = deploy(&stage, json!({"steps": [counter("a")]})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    for _ in 0..RUNS / 2 {
        workflows::run_later(caller, platform, id, json!({})).await.unwrap();
    }
    let jobs = stage.lease_jobs().await;

    let by_hand = join_all((0..RUNS / 2).map(|_| workflows::run(caller, platform, id, json!({}))));
    let queued = join_all(jobs.iter().map(|job| stage.perform_job(job)));
    let (ran, _) = tokio::join!(by_hand, queued);

    assert!(ran.iter().all(Result::is_ok), "{ran:?}");
    assert_eq!(counted(&stage, &workflow, "a").await, RUNS.to_string());
    assert_all_succeeded(&stage, &workflow, RUNS).await;
}

/// Two workflows go through the same data stores in opposite orders.
#[tokio::test]
async fn runs_that_need_the_same_stores_in_opposite_orders_do_not_wait_for_each_other() {
    let stage = Stage::new().await;
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    for store in ["first", "second"] {
        data_stores::create(caller, platform, store).await.unwrap();
        stage.world.sandbox.script_async(store, move |_, services| async move {
            let found = services.db_get(&format!("\0store/{store}")).await.unwrap().unwrap();
            let id: String = serde_json::from_str(&found).unwrap();
            let key = format!("\0data/{id}/n");
            let read = services.db_get(&key).await.unwrap();
            let value = read.map_or(0, |text| serde_json::from_str::<Value>(&text).unwrap()["v"].as_u64().unwrap());
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            let writes = vec![Write { key, value: Some(json!({"v": value + 1}).to_string()) }];
            Outcome { writes, ..returned(&json!(value)) }
        });
    }
    let step = |store: &str| {
        let code = component(store, json!({"props": {"store": "data_store"}}));
        json!({"namespace": store, "code": code, "props": {"store": store}})
    };
    let forth = http(&stage, &[step("first"), step("second")]).await;
    let back = http(&stage, &[step("second"), step("first")]).await;

    let posts = (0..RUNS).map(|n| post(&stage, if n % 2 == 0 { &forth } else { &back }));
    let answers = join_all(posts).await;
    stage.wait_for_runs().await;

    assert!(answers.iter().all(|answer| matches!(answer, Ok(Answer::Accepted))), "{answers:?}");
    for store in ["first", "second"] {
        let value = data_stores::get(caller, platform, store, "n").await.unwrap().value;
        assert_eq!(value, json!(RUNS), "{store}");
    }
    assert_all_succeeded(&stage, &forth, RUNS / 2).await;
    assert_all_succeeded(&stage, &back, RUNS / 2).await;
}

#[tokio::test]
async fn a_run_that_was_accepted_and_fails_goes_on_at_once() {
    let stage = Stage::new().await;
    let hold = stage.script_slow();
    let workflow = http(&stage, &[code("slow"), code("after")]).await;
    let posting = post(&stage, &workflow);
    let failing = async {
        hold.started.notified().await;
        stage.world.clock.advance(5);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        stage.world.sandbox.set_full(true);
        hold.released.notify_one();
    };
    let (answer, ()) = tokio::join!(posting, failing);
    stage.wait_for_runs().await;
    stage.world.sandbox.set_full(false);
    hold.released.notify_one();

    assert!(matches!(answer, Ok(Answer::Accepted)), "{answer:?}");
    assert_eq!(stage.work().await, 1, "its job is due at once");
    assert_all_succeeded(&stage, &workflow, 1).await;
    stage.world.clock.advance(600_000);
    stage.work().await;
    assert_all_succeeded(&stage, &workflow, 1).await;
}
