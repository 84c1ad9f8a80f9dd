//! Tests of follow.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Value, json};
use store::{EntryQuery, Reads};

use super::Stage;
use crate::fake::threw;
use crate::flow::{End, Follower, Following, Next};
use crate::manage::events::EventSummary;
use crate::manage::keys::{self, KeyRequest};
use crate::manage::{sessions, sources, users};
use crate::ports::Outcome;
use crate::records::Source;
use crate::{Caller, Error, fake};

async fn follow(stage: &Stage, source: &Source, following: Following<'_>) -> Result<Follower, Error> {
    Follower::of_source(&stage.caller, &stage.world.platform, source.id.as_str(), following).await
}

/// The next events; ends the test when something else comes.
async fn take(follower: &mut Follower, count: usize) -> Vec<EventSummary> {
    let mut seen = Vec::new();
    while seen.len() < count {
        match follower.next().await.unwrap() {
            Next::Event(entry) => seen.push(EventSummary::of_live(follower.emitter(), &entry).unwrap()),
            other => panic!("{other:?} after {} events", seen.len()),
        }
    }
    seen
}

fn events(seen: &[EventSummary]) -> Vec<Value> {
    seen.iter().map(|event| event.event.clone()).collect()
}

#[tokio::test]
async fn a_follower_sees_what_comes_from_now_on() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.post(&source, json!("before")).await.unwrap();

    let mut follower = follow(&stage, &source, Following::default()).await.unwrap();
    let nothing = follower.next().now_or_never();
    stage.post(&source, json!("after")).await.unwrap();
    let seen = take(&mut follower, 1).await;

    assert!(nothing.is_none());
    assert_eq!(events(&seen), [json!("after")]);
    assert_eq!(seen[0].metadata.emitter_id, source.id.as_str());
    assert_eq!(follower.last_id().to_string(), seen[0].id);
}

/// A source that emits as often as its event says, and writes as many lines to the log.
async fn spring(stage: &Stage) -> Source {
    stage.world.sandbox.script("spring", |call| {
        let emits = (0..call["event"].as_u64().unwrap()).map(|number| fake::emit(&json!(number)));
        let logs = (0..call["event"].as_u64().unwrap()).map(|number| fake::log(&number.to_string()));
        Outcome { emits: emits.collect(), logs: logs.collect(), ..Outcome::default() }
    });
    stage.endpoint("spring", json!({})).await
}

#[tokio::test]
async fn a_follower_gets_every_event_of_a_run_however_few_are_kept() {
    const MANY: usize = 10_000;
    let stage = Stage::new().await;
    let source = spring(&stage).await;
    let mut follower = follow(&stage, &source, Following::default()).await.unwrap();
    let logs = Following { event_name: "$logs", after: None };
    let mut logs = follow(&stage, &source, logs).await.unwrap();

    stage.post(&source, json!(MANY)).await.unwrap();

    assert_eq!(events(&take(&mut follower, MANY).await), (0..MANY).map(|number| json!(number)).collect::<Vec<_>>());
    let kept = stage.world.store.entries(&stage.caller.tenant, source.id.as_str(), "default", EntryQuery::newest(1000));
    assert_eq!(kept.await.unwrap().len(), 100);
    let lines = stage.world.store.entries(&stage.caller.tenant, source.id.as_str(), "$logs", EntryQuery::newest(1000));
    let lines = lines.await.unwrap();
    assert_eq!(take(&mut logs, lines.len()).await.last().unwrap().id, lines[0].id.to_string());
}

#[tokio::test]
async fn a_follower_resumes_after_the_last_event_it_saw_and_goes_on_live() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let mut follower = follow(&stage, &source, Following::default()).await.unwrap();
    for number in 0..25 {
        stage.post(&source, json!(number)).await.unwrap();
    }
    let first = take(&mut follower, 10).await;
    let last_seen = &first.last().unwrap().id;

    let after = Following { after: Some(last_seen), ..Following::default() };
    let mut resumed = follow(&stage, &source, after).await.unwrap();
    let mut seen = take(&mut resumed, 5).await;
    stage.post(&source, json!(25)).await.unwrap();
    seen.extend(take(&mut resumed, 11).await);

    assert_eq!(events(&seen), (10..26).map(|number| json!(number)).collect::<Vec<_>>());
    assert!(resumed.next().now_or_never().is_none(), "nothing comes twice");
}

#[tokio::test]
async fn an_id_of_the_future_does_not_hide_what_comes() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.post(&source, json!("before")).await.unwrap();
    for after in ["8000000000000-0", "99999999999999999-0"] {
        let after = Following { after: Some(after), ..Following::default() };
        let mut follower = follow(&stage, &source, after).await.unwrap();
        assert!(follower.next().now_or_never().is_none());

        stage.post(&source, json!("after")).await.unwrap();

        assert_eq!(events(&take(&mut follower, 1).await), [json!("after")]);
    }
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

    let seen = take(&mut all, 25).await;
    let defaults = take(&mut only_default, 10).await;

    assert_eq!(seen.iter().map(|event| event.event["n"].clone()).collect::<Vec<_>>(), (0..25).collect::<Vec<_>>());
    assert_eq!(seen[3].metadata.name, "two");
    assert!(defaults.iter().all(|event| event.metadata.name.is_empty()));
    let resumed = Following { after: Some(&seen[10].id), ..Following::default() };
    let mut resumed = follow(&stage, &source, resumed).await.unwrap();
    assert_eq!(take(&mut resumed, 14).await[0].event["n"], 11);
    let mut from_now_on = follow(&stage, &source, Following::default()).await.unwrap();
    assert!(from_now_on.next().now_or_never().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_missed_or_repeated_between_what_is_kept_and_what_is_live() {
    const EACH: usize = 200;
    let stage = Arc::new(Stage::new().await);
    let source = talker(&stage).await;
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

    // It comes while events are emitted, and wants those from before as well.
    let beginning = Following { after: Some("0-0"), ..Following::default() };
    let mut all = follow(&stage, &source, beginning).await.unwrap();
    let seen = take(&mut all, 4 * EACH).await;

    for writer in writers {
        writer.await.unwrap();
    }
    assert!(all.next().now_or_never().is_none());
    let mut ids: Vec<&str> = seen.iter().map(|event| event.metadata.emit_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4 * EACH);
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

    assert_eq!(take(&mut logs, 1).await[0].event["message"], "said");
    assert_eq!(take(&mut errors, 1).await[0].event["error"]["message"], "no");
}

/// The stream of a source whose reader does nothing, and what ended it within the time that a look takes.
async fn ended(stage: &Stage, follower: &mut Follower) -> End {
    assert!(follower.next().now_or_never().is_none(), "it has not ended yet");
    stage.world.clock.advance(5000);
    match follower.next().now_or_never() {
        Some(Ok(Next::End(end))) => end,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_source() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let mut follower = follow(&stage, &source, Following::default()).await.unwrap();
    stage.world.clock.advance(60_000);
    assert!(follower.next().now_or_never().is_none());

    sources::delete(&stage.caller, &stage.world.platform, source.id.as_str(), false).await.unwrap();

    assert_eq!(ended(&stage, &mut follower).await, End::SourceDeleted);
}

/// A second key of the same account.
async fn further_key(stage: &Stage) -> (Caller, String) {
    let new = keys::create(&stage.caller, &stage.world.platform, KeyRequest::default()).await.unwrap();
    (keys::authenticate(&stage.world.platform, &new.key).await.unwrap(), new.record.id)
}

#[tokio::test]
async fn a_stream_ends_with_its_key_and_gives_nothing_more() {
    let stage = Stage::new().await;
    let platform = &stage.world.platform;
    let source = stage.endpoint("a", json!({})).await;
    let (other, id) = further_key(&stage).await;
    let all = Following::default();
    let mut idle = Follower::of_source(&other, platform, source.id.as_str(), all).await.unwrap();
    let mut busy = Follower::of_source(&other, platform, source.id.as_str(), all).await.unwrap();
    let mut of_another_key = follow(&stage, &source, all).await.unwrap();

    keys::revoke(&stage.caller, platform, &id).await.unwrap();
    stage.world.clock.advance(1000);
    stage.post(&source, json!(1)).await.unwrap();

    assert!(matches!(busy.next().await, Ok(Next::End(End::KeyRevoked))), "although an event is there");
    take(&mut of_another_key, 1).await;
    stage.world.clock.advance(4000);
    assert!(matches!(idle.next().await, Ok(Next::End(End::KeyRevoked))));
}

#[tokio::test]
async fn a_stream_ends_with_its_account() {
    let stage = Stage::new().await;
    let platform = &stage.world.platform;
    let user = stage.world.user(&stage.caller, "reader").await;
    let request = super::CreateSource {
        component: super::CodeRequest {
            component_code: Some(fake::component("a", json!({}))),
            ..super::CodeRequest::default()
        },
        name: None,
        configured_props: serde_json::Map::new(),
        project: None,
    };
    let source = super::create(&user, platform, request).await.unwrap();
    let mut follower = Follower::of_source(&user, platform, source.id.as_str(), Following::default()).await.unwrap();

    users::delete(&stage.caller, platform, user.user.id.as_str()).await.unwrap();

    assert_eq!(ended(&stage, &mut follower).await, End::AccountDeleted);
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

#[tokio::test]
async fn a_stream_ends_when_its_key_expires() {
    let stage = Stage::new().await;
    let platform = &stage.world.platform;
    let source = stage.endpoint("a", json!({})).await;
    let wish = KeyRequest { expires_at: Some(platform.clock.now_seconds() + 4), ..KeyRequest::default() };
    let new = keys::create(&stage.caller, platform, wish).await.unwrap();
    let other = keys::authenticate(platform, &new.key).await.unwrap();
    let mut follower = Follower::of_source(&other, platform, source.id.as_str(), Following::default()).await.unwrap();

    assert_eq!(ended(&stage, &mut follower).await, End::KeyExpired);
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let stage = Stage::new().await;
    let platform = &stage.world.platform;
    let source = stage.endpoint("a", json!({})).await;
    let session = sessions::create(&stage.caller, platform).await.unwrap();
    let caller = sessions::authenticate(platform, &session.token).await.unwrap();
    let mut follower = Follower::of_source(&caller, platform, source.id.as_str(), Following::default()).await.unwrap();

    sessions::end(&caller, platform, "current").await.unwrap();

    assert_eq!(ended(&stage, &mut follower).await, End::SessionEnded);
}
