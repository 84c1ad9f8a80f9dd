//! Tests of recorded runs: where they are kept, how many, and for how long.

use std::sync::atomic::{AtomicU32, Ordering};

use domain::outcome::Recorded;
use domain::replay::Verdict;
use domain::runs::{Recording, RecordingMode};
use serde_json::{Value, json};

use super::{Hold, Stage};
use crate::Error;
use crate::fake::{World, component, returned, with_keys};
use crate::flow::Answer;
use crate::manage::components::CodeRequest;
use crate::manage::replays::{self, ReplayRequest};
use crate::manage::runs::RunQuery;
use crate::manage::sources::RunSettings;
use crate::manage::{rotation, runs, sources};
use crate::ports::{Outcome, Reply, Write};
use crate::records::Source;

const NEW_KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const OLD_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

async fn recorded_source(stage: &Stage, name: &str) -> Source {
    let answers = || Some(Recorded::Kept(vec![1, 2, 3]));
    stage.world.sandbox.script(name, move |_| Outcome { recording: answers(), ..returned(&json!(null)) });
    let source = stage.endpoint(name, json!({})).await;
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let settings = RunSettings { recording: Some(RecordingMode::All), ..RunSettings::default() };
    sources::set_recording(caller, platform, source.id.as_str(), settings).await.unwrap()
}

/// Posts an event each and answers the ids of the runs.
async fn post(stage: &Stage, source: &Source, bodies: &[Value]) -> Vec<String> {
    let mut ids = Vec::new();
    for body in bodies {
        stage.world.clock.advance(1);
        let admitted = stage.handle.admit(source.endpoint_key.as_str()).await.unwrap();
        ids.push(stage.handle.trigger(admitted, json!({"body": body})).await.unwrap().run_id.to_string());
    }
    ids
}

/// The body that each run was given, as far as it is known.
async fn inputs(stage: &Stage, ids: &[String]) -> Vec<Option<Value>> {
    let mut inputs = Vec::new();
    for id in ids {
        let input = runs::show(&stage.caller, &stage.world.platform, id).await.unwrap().input;
        inputs.push(input.map(|mut input| input["body"].take()));
    }
    inputs
}

#[tokio::test]
async fn what_was_durable_and_answered_before_the_end_is_part_of_the_recording() {
    let (stage, hold) = (Stage::new().await, Hold::default());
    let (inside, executed) = (hold.clone(), AtomicU32::new(0));
    stage.world.sandbox.script_async("early", move |_, services| {
        let (hold, execution) = (inside.clone(), executed.fetch_add(1, Ordering::SeqCst));
        let write = |key: &str, value: &str| Write { key: key.into(), value: Some(value.into()) };
        async move {
            // A replay is answered the writes, because it has no effects.
            let mut writes = services.before_request(vec![write("b", "1"), write("a", "1")]).await.unwrap();
            services.reply(Reply { status: 201, headers: Vec::new(), body: "early".into() });
            if execution == 0 {
                hold.pass().await;
            }
            writes.retain(|write| write.key != "b");
            writes.insert(0, write("b", "2"));
            Outcome { writes, recording: Some(Recorded::Kept(Vec::new())), ..returned(&json!(null)) }
        }
    });
    let props = json!({"props": {"http": {"type": "$.interface.http", "customResponse": true}}});
    let source = stage.endpoint("early", props).await;
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let settings = RunSettings { recording: Some(RecordingMode::All), ..RunSettings::default() };
    sources::set_recording(caller, platform, source.id.as_str(), settings).await.unwrap();

    let posted = stage.post_aside(&source, json!({}));
    hold.started.notified().await;
    stage.world.clock.advance(5);
    let answer = posted.await.unwrap().unwrap();
    hold.released.notify_one();
    stage.wait_for_runs().await;

    assert!(matches!(answer, Answer::Replied(reply) if reply.status == 201));
    let [run] = runs::of_source(caller, platform, source.id.as_str(), &RunQuery::default())
        .await
        .unwrap()
        .items
        .try_into()
        .unwrap();
    assert_eq!((run.record.writes.first, run.record.reply_status), (vec!["b".to_owned(), "a".to_owned()], Some(201)));
    let replayed = replays::replay(caller, platform, run.record.id.as_str(), ReplayRequest::default()).await.unwrap();
    assert_eq!(replayed.verdict, Verdict::Identical, "{:?}", replayed.differences);
}

#[tokio::test]
async fn the_newest_recordings_of_an_account_are_kept_small_and_large() {
    let stage = Stage::with(World::new(|config| config.limits.recordings_kept = 3), Default::default()).await;
    let (first, second) = (recorded_source(&stage, "first").await, recorded_source(&stage, "second").await);
    let large = json!("x".repeat(20_000));

    let mut ids = post(&stage, &first, &[json!(1), large.clone()]).await;
    ids.extend(post(&stage, &second, &[json!(3), json!(4)]).await);

    assert_eq!(inputs(&stage, &ids).await, [None, Some(large), Some(json!(3)), Some(json!(4))]);
    let gone = replays::replay(&stage.caller, &stage.world.platform, &ids[0], ReplayRequest::default()).await;
    assert!(matches!(&gone, Err(Error::NoRecording { recording: Recording::Kept, .. })), "{gone:?}");
    assert!(gone.unwrap_err().to_string().contains("newer ones took its place"));
}

#[tokio::test]
async fn recordings_go_with_their_source_and_leave_those_of_others() {
    let stage = Stage::new().await;
    let (first, second) = (recorded_source(&stage, "first").await, recorded_source(&stage, "second").await);
    let gone = post(&stage, &first, &[json!(1)]).await;
    let kept = post(&stage, &second, &[json!(2)]).await;

    sources::delete(&stage.caller, &stage.world.platform, first.id.as_str(), false).await.unwrap();
    stage.world.clock.advance(24 * 3600 * 1000);
    stage.work().await;

    assert_eq!(inputs(&stage, &kept).await, [Some(json!(2))]);
    assert_eq!(entries(&stage).await.len(), 1, "{gone:?}");
}

async fn entries(stage: &Stage) -> Vec<store::Entry> {
    let query = store::EntryQuery::newest(9);
    stage.world.platform.store.entries(&stage.caller.tenant, "$recordings", "default", query).await.unwrap()
}

#[tokio::test]
async fn runs_that_are_committed_at_once_are_recorded_as_one_and_told_apart() {
    let mut stage = Stage::new().await;
    let source = recorded_source(&stage, "source").await;
    stage.world.store.join_parts(3);
    let ids = post(&stage, &source, &[json!("first"), json!("second"), json!("third"), json!("waits")]).await;

    let known = inputs(&stage, &ids).await;
    let (platform, code) = (
        &stage.world.platform,
        CodeRequest { component_code: Some(component("b", json!({}))), ..CodeRequest::default() },
    );
    let shadowed = replays::shadow(&stage.caller, platform, source.id.as_str(), code, 2).await.unwrap();
    let replayed = replays::replay(&stage.caller, platform, &ids[1], ReplayRequest::default()).await.unwrap();
    stage.world.platform = with_keys(platform, &format!("{NEW_KEY} {OLD_KEY}"));
    let rewrapped = rotation::rewrap_all(&stage.world.platform).await.unwrap();
    stage.world.platform = with_keys(&stage.world.platform, NEW_KEY);

    assert_eq!(known, [Some(json!("first")), Some(json!("second")), Some(json!("third")), None]);
    let shadowed: Vec<_> = shadowed.details.iter().map(|view| &view.run_id).collect();
    assert_eq!((shadowed, &replayed.run_id), (vec![&ids[2], &ids[1]], &ids[1]), "the newest two");
    assert_eq!((rewrapped, inputs(&stage, &ids).await), (2, known), "the recording and the check");
    let [entry] = entries(&stage).await.try_into().unwrap();
    assert!(!entry.value.windows(5).any(|bytes| bytes == b"first"), "it is sealed");
    assert!(entry.value.len() < 900, "{} bytes", entry.value.len());
}

/// They are of the same moment, so that they become too old together.
#[tokio::test]
async fn a_recording_of_several_runs_goes_with_the_last_of_them() {
    let world = World::new(|config| config.limits.runs_kept_seconds = 60);
    let stage = Stage::with(world, Default::default()).await;
    let source = recorded_source(&stage, "source").await;
    stage.world.store.join_parts(5);
    let five: Vec<Value> = (0..5).map(|n| json!(n)).collect();
    post(&stage, &source, &five).await;
    stage.world.store.join_parts(1);
    stage.world.clock.advance(61_000);

    post(&stage, &source, &[json!("four records go with this one")]).await;
    let with_four = entries(&stage).await.len();
    post(&stage, &source, &[json!("and the fifth")]).await;

    assert_eq!((with_four, entries(&stage).await.len()), (2, 2));
}

#[tokio::test]
async fn a_large_recording_is_sealed_by_itself() {
    let stage = Stage::new().await;
    let source = recorded_source(&stage, "source").await;
    stage.world.store.join_parts(9);
    let fits = store::PART_BYTES_MAXIMUM / 2;

    let ids = post(&stage, &source, &[json!("x".repeat(2 * fits)), json!("x".repeat(fits))]).await;

    let known: Vec<bool> = inputs(&stage, &ids).await.iter().map(Option::is_some).collect();
    assert_eq!(known, [true, false], "the other waits for more");
}

#[tokio::test]
async fn a_recording_around_the_longest_part_is_kept_by_itself_or_waits() {
    let stage = Stage::with(World::new(|config| config.limits.runs_kept = 700), Default::default()).await;
    let source = recorded_source(&stage, "source").await;
    stage.world.store.join_parts(usize::MAX);
    let longest = store::PART_BYTES_MAXIMUM;
    let bodies: Vec<Value> = (longest - 700..longest).map(|length| json!("x".repeat(length))).collect();

    // The store refuses a part that is longer, and with it the run.
    let ids = post(&stage, &source, &bodies).await;

    let (first, last) = (inputs(&stage, &ids[..1]).await, inputs(&stage, &ids[699..]).await);
    assert_eq!((first[0].is_some(), last[0].is_some()), (false, true), "the bound is between them");
}

#[tokio::test]
async fn recordings_open_with_the_new_key_alone_after_a_rotation() {
    let mut stage = Stage::new().await;
    let source = recorded_source(&stage, "source").await;
    let ids = post(&stage, &source, &[json!(1), json!(2)]).await;

    let keys = format!("{NEW_KEY} {OLD_KEY}");
    stage.world.platform = with_keys(&stage.world.platform, &keys);
    let count = rotation::rewrap_all(&stage.world.platform).await.unwrap();
    let again = rotation::rewrap_all(&stage.world.platform).await.unwrap();
    stage.world.platform = with_keys(&stage.world.platform, NEW_KEY);

    assert_eq!((count, again), (3, 0), "both and the check");
    assert_eq!(inputs(&stage, &ids).await, [Some(json!(1)), Some(json!(2))]);
}
