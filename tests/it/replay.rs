//! A recorded run is repeated bit for bit: what it emitted, wrote, logged and returned, and its fuel.
//!
//! Every run of the other tests goes through [`check_repeatable`], so that all of them are recorded and replayed.

use std::sync::Arc;

use sandbox::{Fault, Image, Limits, Outcome, Recording, Replay, ReplayMode, Task, Write};
use serde_json::json;

use crate::stage::{Answer, Stage, load, run_call, sandbox, source};

const CALL: &str = r#"{"kind":"run","event":{}}"#;

/// Replays a run and compares everything it did, `flushed` and what it wrote after that. The same code finds the same answers also
/// when it is replayed as if it were another one.
pub(crate) async fn check_repeatable(image: &Image, call: (&str, Limits), outcome: &Outcome, flushed: &[Write]) {
    for mode in [ReplayMode::Exact, ReplayMode::ByQuestion] {
        check_replay(image, call, outcome, flushed, mode).await;
    }
}

async fn check_replay(
    image: &Image,
    (call, limits): (&str, Limits),
    outcome: &Outcome,
    flushed: &[Write],
    mode: ReplayMode,
) {
    let Some(Recording::Kept(recording)) = &outcome.recording else { return };
    let replay = Replay { recording: recording.clone(), mode };
    let replayed = replay_call(image, call, limits, &replay).await;
    match (&outcome.fault, &replayed.fault) {
        // It was stopped from outside: by the clock, or by what was about to come in.
        (Some(Fault::Deadline { .. }), Some(Fault::RecordingEnded | Fault::Deadline { .. })) => return,
        (Some(Fault::Deadline { .. }), _) => return,
        (recorded, replayed) => assert_eq!(recorded, replayed, "how it ended, {mode:?}"),
    }
    assert_eq!(shown(outcome, flushed), shown(&replayed, &[]), "{mode:?}");
    assert_eq!(outcome.usage.fuel, replayed.usage.fuel, "fuel, {mode:?}");
}

async fn replay_call(image: &Image, call: &str, limits: Limits, replay: &Replay) -> Outcome {
    let task = Task { tenant: "test", call, limits, is_urgent: false, replay: Some(replay) };
    let services = Arc::new(Stage::default());
    let outcome = sandbox().await.run(image, task, services.clone()).await.expect("the host does not fail");
    assert!(services.flushed.lock().unwrap().is_empty(), "a replay has no effect");
    outcome
}

fn shown(outcome: &Outcome, flushed: &[Write]) -> serde_json::Value {
    let emits: Vec<_> = outcome.emits.iter().map(|emit| (emit.event.get(), &emit.metadata)).collect();
    let mut writes: Vec<(&str, &Option<String>)> = Vec::new();
    for Write { key, value } in flushed.iter().chain(&outcome.writes) {
        match writes.iter_mut().find(|(written, _)| written == key) {
            Some(written) => written.1 = value,
            None => writes.push((key, value)),
        }
    }
    let effects: Vec<_> = outcome.effects.iter().map(|effect| (effect.kind, effect.parameters.get())).collect();
    json!({
        "returned": outcome.returned, "emits": emits, "writes": writes, "effects": effects, "logs": outcome.logs,
        "has_replied": outcome.has_replied,
    })
}

async fn record(image: &Image, services: Arc<Stage>) -> Replay {
    let outcome = run_call(image, CALL, Limits::default(), services).await;
    assert_eq!(outcome.fault, None);
    let Some(Recording::Kept(recording)) = outcome.recording else { panic!("it was recorded") };
    Replay { recording, mode: ReplayMode::Exact }
}

fn answer(text: serde_json::Value) -> Answer {
    serde_json::from_value(text).unwrap()
}

fn services() -> Arc<Stage> {
    let stage = Stage::default();
    stage.stored.lock().unwrap().insert("n".into(), "41".into());
    stage.answers.lock().unwrap().push(answer(json!({"url": "https://a.test/", "body": {"ok": 1}})));
    Arc::new(stage)
}

const USES_EVERYTHING: &str = r#"
    const n = this.db.get("n");
    console.log("now", Date.now(), Math.random(), crypto.randomUUID());
    await new Promise((resolve) => setTimeout(resolve, 5));
    const answer = await (await fetch("https://a.test/")).json();
    this.db.set("n", n + answer.ok);
    this.$emit({n: this.db.get("n"), random: Math.random(), at: Date.now()});
"#;

#[tokio::test]
async fn a_run_that_uses_everything_is_repeated_without_the_outside() {
    let image = load(&source(USES_EVERYTHING)).await.unwrap();

    // Recording compares the run with its replay.
    record(&image, services()).await;
}

const WRITES_AROUND_REQUESTS: &str = r#"
    this.db.set("a", 1);
    this.db.set("b", 1);
    const began = Date.now();
    await fetch("https://a.test/");
    this.db.set("b", this.db.get("a") + this.db.get("b"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await (await fetch("https://a.test/")).text();
    this.db.set("c", this.db.get("b"));
    this.$emit({took: Date.now() - began, precisely: performance.now(), c: this.db.get("c")});
"#;

#[tokio::test]
async fn what_was_durable_before_a_request_left_is_written_by_the_replay_too() {
    let image = load(&source(WRITES_AROUND_REQUESTS)).await.unwrap();

    let services = services();
    services.answers.lock().unwrap().push(answer(json!({"url": "https://a.test/", "body": "twice"})));
    record(&image, services.clone()).await;

    let flushed: Vec<_> = services.flushed.lock().unwrap().iter().map(|write| write.key.clone()).collect();
    assert_eq!(flushed, ["a", "b", "b"]);
}

#[test]
fn what_a_step_asks_for_is_part_of_its_call() {
    assert_eq!(domain::workflow::GIVEN, sandbox::PART_OF_CALL);
}

#[tokio::test]
async fn a_run_that_asks_for_something_else_diverges_and_says_where() {
    let image = load(&source(USES_EVERYTHING)).await.unwrap();
    let other = load(&source("this.db.get('m')")).await.unwrap();
    let replay = record(&image, services()).await;

    let diverged = replay_call(&other, CALL, Limits::default(), &replay).await;

    let Some(Fault::Diverged { asked, recorded }) = diverged.fault else { panic!("{:?}", diverged.fault) };
    assert_eq!(asked, "the value of `m` in db");
    assert_eq!(recorded, "the value of `n` in db");
}

#[tokio::test]
async fn other_code_runs_on_the_answers_that_were_recorded() {
    let image = load(&source(USES_EVERYTHING)).await.unwrap();
    let replay = record(&image, services()).await;
    let by_question = Replay { mode: ReplayMode::ByQuestion, ..replay };
    let fixed = r#"
        const answer = await (await fetch("https://a.test/")).json();
        await new Promise((resolve) => setTimeout(resolve, 20000));
        this.$emit({n: this.db.get("n") + 2 * answer.ok});
    "#;
    let unknown = r#"await fetch("https://b.test/?token=secret")"#;

    let ran = replay_call(&load(&source(fixed)).await.unwrap(), CALL, Limits::default(), &by_question).await;
    let diverged = replay_call(&load(&source(unknown)).await.unwrap(), CALL, Limits::default(), &by_question).await;

    assert_eq!(ran.fault, None);
    assert_eq!(ran.emits[0].event.get(), r#"{"n":43}"#);
    let Some(Fault::Diverged { asked, .. }) = diverged.fault else { panic!("{:?}", diverged.fault) };
    assert_eq!(asked, "GET https://b.test/ (request)");
}

#[tokio::test]
async fn a_recording_that_would_be_too_large_is_not_kept() {
    let image = load(&source("for (let i = 0; i < 1000; i++) Date.now();")).await.unwrap();
    let limits = Limits { recording_bytes: 1000, ..Limits::default() };
    let task = Task { tenant: "test", call: CALL, limits, is_urgent: false, replay: None };

    let outcome = sandbox().await.run(&image, task, Arc::new(Stage::default())).await.unwrap();

    assert_eq!((outcome.fault, outcome.recording), (None, Some(Recording::Truncated)));
}
