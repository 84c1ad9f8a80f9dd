//! Readers that come back after more was committed than is kept: they are told, and get what is kept.

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::Stage;
use super::workflow_runs::{code, deploy};
use crate::fake::{World, emit, threw};
use crate::flow::{Config, Follower, Following, Next};
use crate::manage::workflows;
use crate::ports::Outcome;
use crate::records::Source;

const KEPT: usize = 5;

async fn short(kept: usize) -> Stage {
    let world = World::new(|config| {
        config.limits.events_kept = kept;
        config.limits.logs_kept = kept;
        config.limits.runs_kept = kept;
    });
    // One entry of each stream with every run.
    world.sandbox.script("a", |call| Outcome { emits: vec![emit(&call["event"])], ..threw("no") });
    Stage::with(world, Config::default()).await
}

async fn follow(stage: &Stage, source: &Source, event_name: &str, after: Option<&str>) -> Follower {
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    Follower::of_source(caller, platform, source.id.as_str(), Following { event_name, after }).await.unwrap()
}

/// What comes until there is nothing more: `-` for the notice, and the ids of events.
async fn all(follower: &mut Follower) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(next) = follower.next().now_or_never() {
        seen.push(match next.unwrap() {
            Next::Event(entry) => entry.id.to_string(),
            Next::NotKept => "-".to_owned(),
            other => panic!("{other:?} after {seen:?}"),
        });
    }
    seen
}

#[tokio::test]
async fn a_reader_of_any_stream_is_told_once_that_events_after_its_last_one_are_no_longer_kept() {
    for stream in ["", "default", "$errors", "$logs", "$runs"] {
        let stage = short(KEPT).await;
        let source = stage.endpoint("a", json!({})).await;
        let mut live = follow(&stage, &source, stream, None).await;
        for number in 0..3 {
            stage.post(&source, json!(number)).await.unwrap();
        }
        let seen = all(&mut live).await;
        assert_eq!(seen.len(), 3, "{stream}");
        let last_seen = seen.last().unwrap();

        for number in 0..4 {
            stage.post(&source, json!(number)).await.unwrap();
        }
        let still_there = all(&mut follow(&stage, &source, stream, Some(last_seen)).await).await;
        assert_eq!(still_there, all(&mut live).await, "{stream}: the one that was seen is the oldest that is kept");
        for number in 0..2 {
            stage.post(&source, json!(number)).await.unwrap();
        }

        let mut resumed = follow(&stage, &source, stream, Some(last_seen)).await;
        let first = resumed.next().await.unwrap();
        assert!(matches!(first, Next::NotKept), "{stream}: {first:?}");
        let goes_on_after = resumed.last_id().to_string();
        let kept = all(&mut resumed).await;
        assert_eq!((kept.len(), kept.contains(&"-".to_owned())), (KEPT, false), "{stream}");
        let again = all(&mut follow(&stage, &source, stream, Some(&goes_on_after)).await).await;
        assert_eq!(again, kept, "{stream}: who was told is not told again");
        let from_the_beginning = all(&mut follow(&stage, &source, stream, Some("0-0")).await).await;
        assert_eq!(from_the_beginning, kept, "{stream}: what is kept is what was asked for");
    }
}

#[tokio::test]
async fn a_reader_of_a_workflow_is_told_as_well() {
    let stage = short(KEPT).await;
    let workflow = deploy(&stage, json!({"steps": [code("a")]})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let run = async || workflows::run(caller, platform, id, json!({})).await.map(drop).unwrap();
    let following = |after| Following { event_name: "$errors", after };
    let mut live = Follower::of_workflow(caller, platform, id, following(None)).await.unwrap();
    run().await;
    let seen = all(&mut live).await;

    for _ in 0..KEPT + 1 {
        run().await;
    }

    let mut resumed =
        Follower::of_workflow(caller, platform, id, following(seen.last().map(String::as_str))).await.unwrap();
    let told = all(&mut resumed).await;
    assert_eq!((told.len(), told[0].as_str()), (KEPT + 1, "-"));
}

#[tokio::test]
async fn a_reader_that_is_overtaken_while_it_reads_what_is_kept_is_told() {
    let stage = short(20).await;
    let source = stage.endpoint("a", json!({})).await;
    let mut live = follow(&stage, &source, "default", None).await;
    let post = async |count: u64| {
        for number in 0..count {
            stage.post(&source, json!(number)).await.unwrap();
        }
    };
    post(20).await;
    let kept = all(&mut live).await;
    let mut resumed = follow(&stage, &source, "default", Some(&kept[0])).await;
    let first = resumed.next().await.unwrap();
    assert!(matches!(first, Next::Event(_)), "{first:?}");

    // A page of ten is read already.
    post(15).await;
    let seen = all(&mut resumed).await;

    let later = all(&mut live).await;
    let expected: Vec<String> =
        kept[2..11].iter().cloned().chain(["-".to_owned()]).chain(kept[15..].iter().cloned()).chain(later).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_reader_is_told_of_runs_that_are_older_than_they_are_kept() {
    let world = World::new(|config| config.limits.runs_kept_seconds = 60);
    let stage = Stage::with(world, Config::default()).await;
    let source = stage.endpoint("a", json!({})).await;
    let mut live = follow(&stage, &source, "$runs", None).await;
    for wait_ms in [0, 5_000, 35_000, 30_000] {
        stage.world.clock.advance(wait_ms);
        stage.post(&source, Value::Null).await.unwrap();
    }
    let seen = all(&mut live).await;

    let after_the_first = all(&mut follow(&stage, &source, "$runs", Some(&seen[0])).await).await;
    let after_the_third = all(&mut follow(&stage, &source, "$runs", Some(&seen[2])).await).await;

    assert_eq!(after_the_first, ["-", &seen[2], &seen[3]]);
    assert_eq!(after_the_third, [seen[3].clone()]);
}
