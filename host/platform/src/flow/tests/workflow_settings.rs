//! Settings of workflows: how long runs take, what is kept of them; and pauses of many runs at once.

use serde_json::json;
use store::{Batch, EntryQuery, Op, Reads, Store};

use super::Stage;
use super::crash::mortal;
use super::workflow_runs::{asking, code, deploy, find, pausing};
use crate::Error;
use crate::fake::{log, returned};
use crate::flow::{Config, Flow};
use crate::manage::workflows::{self, RunListQuery, WorkflowRunView};
use crate::ports::{EffectKind, Outcome};
use crate::records::workflow_run::RunState;
use crate::records::{Tick, Workflow, WorkflowRun, names, table};

async fn run(stage: &Stage, workflow: &Workflow) -> WorkflowRunView {
    workflows::run(&stage.caller, &stage.world.platform, workflow.id.as_str(), json!({"n": 1})).await.unwrap()
}

#[tokio::test]
async fn a_run_that_takes_longer_than_it_may_ends_before_its_next_step_and_a_pause_does_not_count() {
    let stage = Stage::new().await;
    let clock = stage.world.clock.clone();
    stage.world.sandbox.script("slow", move |_| {
        clock.advance(2_000);
        returned(&json!(null))
    });
    stage.world.sandbox.script("waits", |_| pausing(&json!({"kind": "delay", "ms": 60_000})));
    let settings = json!({"timeout_seconds": 3, "auto_retry": true});
    let document = |steps: &[&str]| {
        let named = steps.iter().enumerate().map(|(index, name)| {
            let mut step = code(name);
            step["namespace"] = json!(format!("{name}{index}"));
            step
        });
        json!({"settings": settings, "steps": named.collect::<Vec<_>>()})
    };

    let late = run(&stage, &deploy(&stage, document(&["slow", "slow", "slow"])).await).await;
    let paused = deploy(&stage, document(&["slow", "waits", "slow"])).await;
    let waits = run(&stage, &paused).await;
    stage.world.clock.advance(60_000);
    stage.work().await;

    let error = late.error.unwrap();
    assert_eq!((late.state, error.code.as_str(), late.steps.unwrap().len()), (RunState::Error, "deadline", 2));
    assert_eq!(find(&stage, &paused, &waits).await.state, RunState::Success);
    assert_eq!(stage.world.sandbox.called().len(), 5, "the third step of the first run did not begin");
}

#[tokio::test]
async fn nothing_is_kept_of_runs_of_a_workflow_that_says_so_but_what_they_emitted() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("emits", |_| asking(EffectKind::SendEmit, &json!({"done": true})));
    let settings = json!({"retention": "none"});
    let workflow = deploy(&stage, json!({"settings": settings, "steps": [code("a"), code("emits")]})).await;

    let ran = run(&stage, &workflow).await;

    assert_eq!(ran.state, RunState::Success);
    let steps = ran.steps.unwrap();
    assert!(steps.iter().all(|step| step.exports.is_null() && step.inputs.is_null() && step.logs.is_empty()));
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let listed = workflows::list_runs(caller, platform, id, &RunListQuery::default()).await.unwrap();
    assert_eq!(listed.items.len(), 0);
    for (stream, expected) in [(names::RUNS, 0), (names::WORKFLOW_RUNS, 0), (names::DEFAULT, 1)] {
        let kept = stage.world.store.entries(&caller.tenant, id, stream, EntryQuery::newest(10)).await.unwrap();
        assert_eq!(kept.len(), expected, "{stream}");
    }
}

#[tokio::test]
async fn nothing_is_kept_of_runs_that_were_cancelled_or_lost_their_version_nor_of_what_steps_logged() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("logs", |_| Outcome { logs: vec![log("a secret")], ..returned(&json!("a secret")) });
    stage.world.sandbox.script("waits", |_| pausing(&json!({"kind": "delay", "ms": 60_000})));
    let document = json!({"settings": {"retention": "none"}, "steps": [code("logs"), code("waits")]});
    let workflow = deploy(&stage, document.clone()).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());

    let cancelled = run(&stage, &workflow).await;
    workflows::cancel(caller, platform, id, cancelled.id.as_str()).await.unwrap();
    run(&stage, &workflow).await;
    for _ in 0..50 {
        workflows::update(caller, platform, id, document.clone().into()).await.unwrap();
    }
    stage.world.clock.advance(60_000);
    stage.work().await;

    for (stream, expected) in [(names::LOGS, 0), (names::WORKFLOW_RUNS, 0), (names::ERRORS, 1)] {
        let kept = stage.world.store.entries(&caller.tenant, id, stream, EntryQuery::newest(10)).await.unwrap();
        assert_eq!(kept.len(), expected, "{stream}");
    }
}

#[tokio::test]
async fn a_run_that_is_at_work_is_shown_so_and_does_not_wait_in_the_queue() {
    let stage = Stage::new().await;
    let hold = stage.script_slow();
    let settings = json!({"concurrency": 1, "queue_size": 1});
    let workflow = deploy(&stage, json!({"settings": settings, "steps": [code("slow")]})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let queued = workflows::run_later(caller, platform, id, json!({})).await.unwrap();
    assert_eq!(queued.state, RunState::Queued);
    stage.world.clock.advance(5_000);
    let job = stage.lease_jobs().await.pop().unwrap();
    let begun_ms = stage.now_ms();

    let working = stage.perform_job(&job);
    let looking = async {
        hold.started.notified().await;
        let brief = find(&stage, &workflow, &queued).await.state;
        stage.world.clock.advance(100);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let shown = find(&stage, &workflow, &queued).await;
        assert_eq!((brief, shown.state, shown.started_at_ms), (RunState::Queued, RunState::Executing, begun_ms));
        workflows::run_later(caller, platform, id, json!({})).await.unwrap();
        let refused = workflows::run_later(caller, platform, id, json!({})).await;
        assert!(matches!(refused, Err(Error::QueueFull { size: 1 })), "{refused:?}");
        hold.released.notify_one();
    };
    tokio::join!(working, looking);

    let ended = find(&stage, &workflow, &queued).await;
    assert_eq!(
        (ended.state, ended.started_at_ms, ended.ended_at_ms),
        (RunState::Success, begun_ms, Some(begun_ms + 100))
    );
}

#[tokio::test]
async fn as_many_runs_are_at_once_as_may_be_and_the_next_takes_the_place_of_the_first_that_ends() {
    let stage = Stage::new().await;
    let document = json!({"settings": {"concurrency": 4}, "steps": [code("a")]});
    let workflow = deploy(&stage, document).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let queue = async || workflows::run_later(caller, platform, id, json!({})).await.unwrap();
    for _ in 0..6 {
        queue().await;
    }

    let leased = stage.lease_jobs().await;
    assert_eq!(leased.len(), 4);
    // Both that wait run after one of these; the other two lanes are free then.
    for job in &leased {
        stage.perform_job(job).await;
    }
    assert_eq!(stage.lease_jobs().await.len(), 2);
    for _ in 0..2 {
        queue().await;
    }
    assert_eq!(stage.lease_jobs().await.len(), 2, "the first two are still at work");
}

#[tokio::test]
async fn a_short_run_from_the_queue_is_one_commit() {
    let mut stage = Stage::new().await;
    let workflow = deploy(&stage, json!({"settings": {"concurrency": 1}, "steps": [code("a"), code("b")]})).await;
    let queued =
        workflows::run_later(&stage.caller, &stage.world.platform, workflow.id.as_str(), json!({})).await.unwrap();
    let (platform, store) = mortal(&stage, usize::MAX, false);
    (stage.handle, _) = Flow::new(platform, stage.world.chores(), Config::default());

    stage.work().await;

    assert_eq!((store.commits(), find(&stage, &workflow, &queued).await.state), (1, RunState::Success));
}

#[tokio::test]
async fn a_timer_in_a_time_zone_keeps_its_hour_when_clocks_change() {
    const HOUR_MS: u64 = 3_600_000;
    let stage = Stage::new().await;
    let triggers = json!([{"type": "timer", "cron": "0 9 * * *", "timezone": "Europe/Berlin"}]);
    deploy(&stage, json!({"triggers": triggers, "steps": [code("a")]})).await;
    // From noon of 22 June 2025 to 6:59 (UTC) of the last day of summer time, 25 October.
    stage.world.clock.advance(125 * 24 * HOUR_MS - 5 * HOUR_MS - 60_000);
    stage.work().await;
    let before = stage.world.sandbox.called().len();

    let mut ran = Vec::new();
    // 7:00 of the 25th; 7:00 of the 26th, when it is eight in Berlin; 8:00 of the 26th; 8:00 of the 27th.
    for advance_ms in [60_000, 24 * HOUR_MS, HOUR_MS, 24 * HOUR_MS] {
        stage.world.clock.advance(advance_ms);
        stage.work().await;
        ran.push(stage.world.sandbox.called().len() - before);
    }

    assert_eq!((before, ran), (1, vec![1, 1, 2, 3]), "what was missed before is made up for once");
}

/// A paused run is a record and a timer: however many there are, only those that are due are read.
#[tokio::test]
async fn many_paused_runs_wake_on_time() {
    const RUNS: u64 = 10_000;
    const AT_ONCE: u64 = 100;
    let stage = Stage::new().await;
    stage.world.sandbox.script("waits", |_| pausing(&json!({"kind": "delay", "ms": 1000})));
    let workflow = deploy(&stage, json!({"steps": [code("waits"), code("after")]})).await;
    let first = run(&stage, &workflow).await;
    let (store, tenant) = (&stage.world.store, &stage.caller.tenant);
    let kept = table::find::<WorkflowRun>(&**store, tenant, store::Lookup::Id(first.id.as_str())).await.unwrap();
    let template = serde_json::to_value(kept.unwrap().record).unwrap();
    let begun_ms = stage.now_ms();
    // Due every second from now on, a hundred at a time.
    for second in 0..RUNS / AT_ONCE {
        let due_ms = begun_ms + (second + 1) * 1000;
        let mut batch = Batch::new(tenant, begun_ms);
        let mut paused = template.clone();
        paused["position"]["root"]["at"]["Paused"]["until_ms"] = json!(due_ms);
        let paused: WorkflowRun = serde_json::from_value(paused).unwrap();
        for _ in 0..AT_ONCE {
            let id = crate::invoke::new_run_id(&stage.world.platform, workflow.id.as_str());
            let run = WorkflowRun { id: id.clone(), ..paused.clone() };
            let schedule = Tick::Run { run: id.clone() }.encode().unwrap();
            batch.operations.push(table::put(&run).unwrap());
            batch.operations.push(Op::SetTimer { timer: names::run_timer(&id), due_ms, schedule });
        }
        store.commit(batch).await.unwrap();
    }

    // The template itself and those of the first second, then none until the next.
    stage.world.clock.advance(999);
    assert_eq!(stage.work().await, 0);
    stage.world.clock.advance(1);
    assert_eq!(stage.work().await, AT_ONCE as usize + 1);
    assert_eq!(stage.work().await, 0);
    stage.world.clock.advance(1000);
    assert_eq!(stage.work().await, AT_ONCE as usize);

    let left = store.records(tenant, "workflow_run", store::Page::newest(1)).await.unwrap().total;
    assert_eq!(left, RUNS - 2 * AT_ONCE);
}

/// A pause is a length of time and no hour of a clock: it is as long when clocks are put back meanwhile.
#[tokio::test]
async fn a_pause_across_a_change_of_clocks_keeps_its_length() {
    const HOUR_MS: u64 = 3_600_000;
    let stage = Stage::new().await;
    // 25 October 2025, 22:00 in Berlin: clocks are put back during the night.
    stage.world.clock.advance(125 * 24 * HOUR_MS + 8 * HOUR_MS);
    stage.world.sandbox.script("waits", |_| pausing(&json!({"kind": "delay", "ms": 12 * HOUR_MS})));
    let workflow = deploy(&stage, json!({"steps": [code("waits"), code("after")]})).await;
    run(&stage, &workflow).await;

    stage.world.clock.advance(12 * HOUR_MS - 1);
    let before = stage.work().await;
    stage.world.clock.advance(1);

    assert_eq!((before, stage.work().await), (0, 1));
}
