//! Tests of what is kept and shown of runs: by source, to their bounds.

use domain::outcome::{Recorded, RequestMade, Traffic};
use domain::redact::{REDACTED, Redaction};
use domain::replay::Verdict;
use domain::runs::{Recording, RecordingMode};
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::Stage;
use crate::Error;
use crate::fake::{World, component, emit, log, returned, threw};
use crate::flow::{Config, Follower, Following};
use crate::manage::components::CodeRequest;
use crate::manage::events::{self, EventQuery};
use crate::manage::replays::{self, ReplayRequest, SHADOW_MAXIMUM};
use crate::manage::runs::{self, RunQuery};
use crate::manage::sources::{self, RunSettings};
use crate::ports::{Outcome, Write};
use crate::records::{Source, names};

const DAY_MS: u64 = 86_400_000;

async fn run(stage: &Stage, source: &Source, event: Value) -> String {
    sources::run(&stage.caller, &stage.world.platform, source.id.as_str(), event).await.unwrap().run_id
}

async fn listed(stage: &Stage, source: &Source) -> usize {
    let query = RunQuery::default();
    runs::of_source(&stage.caller, &stage.world.platform, source.id.as_str(), &query).await.unwrap().items.len()
}

async fn recordings(stage: &Stage) -> usize {
    let query = store::EntryQuery::newest(1000);
    let entries = stage.world.platform.store.entries(&stage.caller.tenant, names::RECORDINGS, names::DEFAULT, query);
    entries.await.unwrap().len()
}

async fn set(stage: &Stage, source: &Source, settings: RunSettings) -> Result<Source, Error> {
    sources::set_recording(&stage.caller, &stage.world.platform, source.id.as_str(), settings).await
}

/// Emits its event, logs it, and can be replayed.
fn recorded(call: &Value) -> Outcome {
    Outcome {
        emits: vec![emit(&call["event"])],
        logs: vec![log(&format!("got {}", call["event"]["body"]["password"]))],
        recording: Some(Recorded::Kept(Vec::new())),
        ..returned(&json!({"password": call["event"]["body"]["password"]}))
    }
}

/// A source whose runs are all recorded.
async fn recording_source(stage: &Stage) -> Source {
    stage.world.sandbox.script("recorded", |call| recorded(&call));
    let source = stage.deploy("recorded", json!({})).await;
    set(stage, &source, RunSettings { recording: Some(RecordingMode::All), ..RunSettings::default() }).await.unwrap()
}

fn code(name: &str) -> CodeRequest {
    CodeRequest { component_code: Some(component(name, json!({}))), ..CodeRequest::default() }
}

#[tokio::test]
async fn a_source_says_how_many_records_are_kept_and_0_deletes_them() {
    let stage = Stage::new().await;
    let (source, other) = (recording_source(&stage).await, stage.deploy("other", json!({})).await);
    let keep = |count| RunSettings { keep_runs: Some(count), ..RunSettings::default() };
    for _ in 0..4 {
        run(&stage, &source, json!({})).await;
        run(&stage, &other, json!({})).await;
    }

    set(&stage, &source, keep(2)).await.unwrap();
    run(&stage, &source, json!({})).await;
    let two = (listed(&stage, &source).await, recordings(&stage).await);
    let changed = set(&stage, &source, keep(0)).await.unwrap();
    let none = (listed(&stage, &source).await, recordings(&stage).await);
    run(&stage, &source, json!({})).await;

    assert_eq!((two, none), ((2, 5), (0, 0)));
    assert_eq!((changed.recording, changed.retention.count), (RecordingMode::All, Some(0)), "what is absent stays");
    assert_eq!((listed(&stage, &source).await, recordings(&stage).await), (0, 0));
    assert_eq!(listed(&stage, &other).await, 4);
    let again = RunSettings { default_retention: true, ..RunSettings::default() };
    assert_eq!(set(&stage, &source, again).await.unwrap().retention, Default::default(), "as the server keeps them");
    run(&stage, &source, json!({})).await;
    assert_eq!(listed(&stage, &source).await, 1);
    assert!(set(&stage, &source, keep(10_000)).await.is_ok());
    assert!(matches!(set(&stage, &source, keep(10_001)).await, Err(Error::Parameter { name: "keep_runs", .. })));
    let beyond = set(&stage, &source, keep(u64::MAX)).await;
    assert!(matches!(beyond, Err(Error::Parameter { name: "keep_runs", .. })));
}

#[tokio::test]
async fn records_older_than_a_source_keeps_them_are_not_shown_and_go_with_the_next_runs() {
    let stage = Stage::new().await;
    let source = recording_source(&stage).await;
    let platform = &stage.world.platform;
    let mut old = String::new();
    for _ in 0..20 {
        old = run(&stage, &source, json!({})).await;
    }
    stage.world.clock.advance(7 * DAY_MS);
    let seconds = Some(7 * DAY_MS / 1000);
    set(&stage, &source, RunSettings { keep_runs_for_seconds: seconds, ..RunSettings::default() }).await.unwrap();

    let at_the_bound = listed(&stage, &source).await;
    stage.world.clock.advance(1);
    let hidden = listed(&stage, &source).await;
    let all = runs::of_all(&stage.caller, platform, &RunQuery::default()).await.unwrap().items.len();
    let found = runs::find(&stage.caller, platform, &old).await;
    let replayed = replays::replay(&stage.caller, platform, &old, ReplayRequest::default()).await;
    let shadowed = replays::shadow(&stage.caller, platform, source.id.as_str(), code("recorded"), 20).await.unwrap();
    let still_there = recordings(&stage).await;
    run(&stage, &source, json!({})).await;
    let after_one = recordings(&stage).await;
    for _ in 0..4 {
        run(&stage, &source, json!({})).await;
    }

    assert_eq!((at_the_bound, hidden, all, shadowed.runs), (10, 0, 0, 0));
    assert!(matches!(found, Err(Error::NotFound { .. })) && matches!(replayed, Err(Error::NotFound { .. })));
    assert_eq!((still_there, after_one, recordings(&stage).await), (20, 20 - 4 + 1, 5));
    assert_eq!(listed(&stage, &source).await, 5);
}

#[tokio::test]
async fn the_server_says_how_long_records_are_kept_where_a_source_does_not() {
    let world = World::new(|config| config.limits.runs_kept_seconds = 60);
    let stage = Stage::with(world, Config::default()).await;
    let (source, forever) = (stage.deploy("a", json!({})).await, stage.deploy("b", json!({})).await);
    set(&stage, &forever, RunSettings { keep_runs_for_seconds: Some(0), ..RunSettings::default() }).await.unwrap();
    for source in [&source, &forever] {
        run(&stage, source, json!({})).await;
    }

    stage.world.clock.advance(60_001);

    assert_eq!((listed(&stage, &source).await, listed(&stage, &forever).await), (0, 1));
    let streamed = async |source: &Source| {
        let query = EventQuery { event_name: Some(names::RUNS.into()), ..EventQuery::default() };
        let (caller, platform, id) = (&stage.caller, &stage.world.platform, source.id.as_str());
        let summaries = events::of_source(caller, platform, id, &query).await.unwrap().items.len();
        let following = Following { event_name: names::RUNS, after: Some("0-0") };
        let mut follower = Follower::of_source(caller, platform, id, following).await.unwrap();
        (summaries, follower.next().now_or_never().is_some())
    };
    assert_eq!((streamed(&source).await, streamed(&forever).await), ((0, false), (1, true)));
}

#[tokio::test]
async fn redacted_values_are_in_nothing_that_is_shown_of_runs_and_replays() {
    let stage = Stage::new().await;
    let source = recording_source(&stage).await;
    let platform = &stage.world.platform;
    let redact = Some(Redaction::parse(["body.password"]).unwrap());
    set(&stage, &source, RunSettings { redact, ..RunSettings::default() }).await.unwrap();
    let event = json!({"body": {"password": "hunter22", "n": 1}, "bodyRaw": "password=hunter22&n=1"});
    let id = run(&stage, &source, event).await;
    stage.world.sandbox.script("leaks", |call| Outcome {
        emits: vec![emit(&json!({"copied": call["event"]["body"]["password"]}))],
        ..threw(&format!("bad {}", call["event"]["body"]["password"]))
    });
    stage.world.sandbox.script("other", |call| {
        let mut call = call;
        call["event"]["body"]["password"] = json!("another");
        recorded(&call)
    });
    let replay = async |code| {
        let request = ReplayRequest { code, ..ReplayRequest::default() };
        replays::replay(&stage.caller, platform, &id, request).await.unwrap()
    };

    let shown = runs::show(&stage.caller, platform, &id).await.unwrap();
    let same = replay(CodeRequest::default()).await;
    let leaks = replay(code("leaks")).await;
    let other = replay(code("other")).await;
    let shadow = replays::shadow(&stage.caller, platform, source.id.as_str(), code("leaks"), 1).await.unwrap();

    let input = shown.input.as_ref().unwrap();
    assert_eq!(*input, json!({"body": {"password": REDACTED, "n": 1}, "bodyRaw": REDACTED}));
    assert_eq!(
        (same.verdict, leaks.verdict, other.verdict),
        (Verdict::Identical, Verdict::Different, Verdict::Different)
    );
    let texts = [json!(shown), json!(same), json!(leaks), json!(other), json!(shadow)].map(|value| value.to_string());
    for text in texts {
        assert!(text.contains(REDACTED) && !text.contains("hunter22") && !text.contains("another"), "{text}");
    }
    // The run itself got everything, and so does one that is retried.
    assert_eq!(stage.stream(&source, "default").await[0]["body"]["password"], "hunter22");
    replays::retry(&stage.caller, platform, &id).await.unwrap();
    assert_eq!(stage.stream(&source, "default").await[1]["body"]["password"], "hunter22");
}

#[tokio::test]
async fn redacted_values_are_in_no_list_and_no_stream_of_runs() {
    let stage = Stage::new().await;
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    stage.world.sandbox.script("fails", |call| {
        let password = call["event"]["body"]["password"].as_str().unwrap();
        let made = RequestMade { path: format!("/login/{password}"), ..request() };
        let write = Write { key: format!("of {password}"), value: Some("1".into()) };
        let traffic = Traffic { requests_made: 1, requests: vec![made], ..Traffic::default() };
        Outcome { traffic, writes: vec![write], ..threw(&format!("bad {password}")) }
    });
    let source = stage.deploy("fails", json!({})).await;
    let redact = Some(Redaction::parse(["body.password"]).unwrap());
    // It is not recorded, so nothing but its record tells of it.
    let settings = RunSettings { redact, recording: Some(RecordingMode::Off), ..RunSettings::default() };
    set(&stage, &source, settings).await.unwrap();

    let id = run(&stage, &source, json!({"body": {"password": "hunter22"}})).await;

    let (query, id) = (RunQuery::default(), id.as_str());
    let replayed = replays::replay(caller, platform, id, ReplayRequest::default()).await;
    assert!(matches!(replayed, Err(Error::NoRecording { recording: Recording::None, .. })), "{replayed:?}");
    let streamed = EventQuery { event_name: Some(names::RUNS.into()), ..EventQuery::default() };
    let shown = runs::show(caller, platform, id).await.unwrap();
    let of_source = runs::of_source(caller, platform, source.id.as_str(), &query).await.unwrap().items;
    let of_all = runs::of_all(caller, platform, &query).await.unwrap().items;
    let streamed = events::of_source(caller, platform, source.id.as_str(), &streamed).await.unwrap().items;
    for view in [json!(shown), json!(of_source), json!(of_all), json!(streamed)] {
        let text = view.to_string();
        assert!(text.contains(&format!("/login/{REDACTED}")) && text.contains(&format!("of {REDACTED}")), "{text}");
        assert!(!text.contains("hunter22"), "{text}");
    }
}

fn request() -> RequestMade {
    let [method, host, path] = ["GET", "a.test", "/"].map(str::to_owned);
    RequestMade { method, host, path, status: Some(200), error: None, ms: 1 }
}

#[tokio::test]
async fn as_many_recordings_are_kept_as_the_server_says_and_a_shadow_runs_200() {
    let world = World::new(|config| config.limits.recordings_kept = SHADOW_MAXIMUM + 3);
    let stage = Stage::with(world, Config::default()).await;
    let source = recording_source(&stage).await;
    let mut ids = Vec::new();
    for number in 0..SHADOW_MAXIMUM + 5 {
        ids.push(run(&stage, &source, json!({"n": number})).await);
    }

    let (platform, id) = (&stage.world.platform, source.id.as_str());
    let shadow = replays::shadow(&stage.caller, platform, id, code("silent"), SHADOW_MAXIMUM + 50).await.unwrap();
    let oldest = replays::replay(&stage.caller, platform, &ids[2], ReplayRequest::default()).await.unwrap();
    let gone = replays::replay(&stage.caller, platform, &ids[1], ReplayRequest::default()).await;

    assert_eq!(recordings(&stage).await, SHADOW_MAXIMUM + 3);
    assert_eq!((shadow.runs, shadow.changed, shadow.details.len()), (200, 200, 200));
    assert_eq!((&shadow.details[0].run_id, &shadow.details[199].run_id), (&ids[204], &ids[5]), "the newest");
    assert_eq!(oldest.verdict, Verdict::Identical);
    assert!(matches!(gone, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_list_of_all_runs_reads_the_500_newest_sources() {
    let stage = Stage::new().await;
    let oldest = stage.deploy("a", json!({})).await;
    let second = stage.deploy("a", json!({})).await;
    for _ in 0..499 {
        stage.deploy("a", json!({})).await;
    }
    for source in [&oldest, &second] {
        run(&stage, source, json!({})).await;
    }

    let all = runs::of_all(&stage.caller, &stage.world.platform, &RunQuery::default()).await.unwrap().items;

    let emitters: Vec<_> = all.iter().map(|view| view.record.emitter_id.as_str()).collect();
    assert_eq!(emitters, [second.id.as_str()]);
    assert_eq!(listed(&stage, &oldest).await, 1, "the others are listed by source");
}
