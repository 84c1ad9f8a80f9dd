//! Tests of follow.

use futures_util::FutureExt;
use serde_json::json;

use super::Stage;
use crate::fake::threw;
use crate::flow::{Follower, Following};
use crate::ports::Outcome;
use crate::records::Source;
use crate::{Error, fake};

async fn follow(stage: &Stage, source: &Source, following: Following<'_>) -> Result<Follower, Error> {
    Follower::of_source(&stage.caller, &stage.world.platform, source.id.as_str(), following).await
}

#[tokio::test]
async fn a_follower_sees_what_comes_from_now_on() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.post(&source, json!("before")).await.unwrap();

    let mut follower = follow(&stage, &source, Following::default()).await.unwrap();
    let nothing = follower.next().now_or_never();
    stage.post(&source, json!("after")).await.unwrap();
    let seen = follower.next().await.unwrap();

    assert!(nothing.is_none());
    assert_eq!(seen.iter().map(|event| &event.event).collect::<Vec<_>>(), [&json!("after")]);
    assert_eq!(seen[0].metadata.emitter_id, source.id.as_str());
}

#[tokio::test]
async fn a_follower_resumes_after_the_last_event_it_saw() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let mut follower = follow(&stage, &source, Following::default()).await.unwrap();
    for number in 0..25 {
        stage.post(&source, json!(number)).await.unwrap();
    }
    let first = follower.next().await.unwrap();
    let last_seen = &first.last().unwrap().id;

    let after = Following { after: Some(last_seen), ..Following::default() };
    let mut resumed = follow(&stage, &source, after).await.unwrap();
    let mut seen = resumed.next().await.unwrap();
    seen.extend(resumed.next().await.unwrap());

    assert_eq!(first.len(), 10);
    assert_eq!(
        seen.iter().map(|event| event.event.clone()).collect::<Vec<_>>(),
        (10..25).map(|n| json!(n)).collect::<Vec<_>>()
    );
}

/// A source that emits each event into the channel that the event names.
async fn talker(stage: &Stage) -> Source {
    stage.world.sandbox.script("talker", |call| {
        let event = call["event"].clone();
        let metadata = json!({"name": event["channel"]});
        Outcome { emits: vec![fake::emit_with(&event, metadata)], ..Outcome::default() }
    });
    stage.endpoint("talker", json!({})).await
}

#[tokio::test]
async fn a_follower_without_a_name_sees_every_channel_in_the_order_of_emission() {
    let stage = Stage::new().await;
    let source = talker(&stage).await;
    let mut all = follow(&stage, &source, Following::default()).await.unwrap();
    let mut only_default = follow(&stage, &source, Following { event_name: "default", after: None }).await.unwrap();
    // The second channel is made while it is followed; more come than are read at once.
    let channels = ["", "one", "", "two", "one"].into_iter().cycle().take(25);
    for (number, channel) in channels.enumerate() {
        stage.post(&source, json!({"channel": channel, "n": number})).await.unwrap();
    }

    let mut seen = Vec::new();
    while seen.len() < 25 {
        seen.extend(all.next().await.unwrap());
    }
    let defaults = only_default.next().await.unwrap();

    assert_eq!(seen.iter().map(|event| event.event["n"].clone()).collect::<Vec<_>>(), (0..25).collect::<Vec<_>>());
    assert_eq!(seen[3].metadata.name, "two");
    assert!(defaults.iter().all(|event| event.metadata.name.is_empty()));
    let resumed = Following { after: Some(&seen[10].id), ..Following::default() };
    let mut resumed = follow(&stage, &source, resumed).await.unwrap();
    assert_eq!(resumed.next().await.unwrap()[0].event["n"], 11);
    let mut from_now_on = follow(&stage, &source, Following::default()).await.unwrap();
    assert!(from_now_on.next().now_or_never().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_missed_that_comes_to_one_channel_while_another_is_read() {
    const EACH: usize = 200;
    let stage = std::sync::Arc::new(Stage::new().await);
    let source = talker(&stage).await;
    let mut all = follow(&stage, &source, Following::default()).await.unwrap();
    let writers: Vec<_> = (0..4)
        .map(|channel| {
            let (stage, source) = (stage.clone(), source.clone());
            tokio::spawn(async move {
                for number in 0..EACH {
                    // New channels appear all the time.
                    let name = format!("c{channel}-{}", number / 20);
                    stage.post(&source, json!({"channel": name})).await.unwrap();
                }
            })
        })
        .collect();

    let ended = tokio::spawn({
        let (stage, source) = (stage.clone(), source.clone());
        async move {
            for writer in writers {
                writer.await.unwrap();
            }
            stage.post(&source, json!({"channel": "end"})).await.unwrap();
        }
    });

    let mut seen: Vec<(String, String)> = Vec::new();
    while seen.last().is_none_or(|(channel, _)| channel != "end") {
        let metadata = all.next().await.unwrap().into_iter().map(|event| event.metadata);
        seen.extend(metadata.map(|metadata| (metadata.name, metadata.emit_id)));
    }

    ended.await.unwrap();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 4 * EACH + 1);
}

#[tokio::test]
async fn errors_and_logs_are_streams_of_their_own() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("bad", |_| Outcome { logs: vec![fake::log("said")], ..threw("no") });
    let source = stage.endpoint("bad", json!({})).await;
    let logs = Following { event_name: "$logs", after: None };
    let errors = Following { event_name: "$errors", after: None };
    let mut logs = follow(&stage, &source, logs).await.unwrap();
    let mut errors = follow(&stage, &source, errors).await.unwrap();

    stage.post(&source, json!({})).await.unwrap();

    assert_eq!(logs.next().await.unwrap()[0].event["message"], "said");
    assert_eq!(errors.next().await.unwrap()[0].event["error"]["message"], "Error: no");
}

#[tokio::test]
async fn what_is_not_there_or_malformed_is_refused() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let bad_name = Following { event_name: "$nothing", after: None };
    let bad_id = Following { after: Some("yesterday"), ..Following::default() };

    let unknown =
        Follower::of_source(&stage.caller, &stage.world.platform, "dc_000000000000", Following::default()).await;

    assert!(matches!(unknown, Err(Error::NotFound { .. })));
    assert!(matches!(follow(&stage, &source, bad_name).await, Err(Error::Parameter { name: "event_name", .. })));
    assert!(matches!(follow(&stage, &source, bad_id).await, Err(Error::Parameter { name: "last_event_id", .. })));
}
