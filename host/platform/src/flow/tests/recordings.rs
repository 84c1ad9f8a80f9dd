//! Tests of recorded runs: where they are kept, how many, and for how long.

use domain::outcome::Recorded;
use domain::runs::RecordingMode;
use serde_json::{Value, json};

use super::Stage;
use crate::fake::{World, returned, with_keys};
use crate::manage::sources::RunSettings;
use crate::manage::{rotation, runs, sources};
use crate::ports::Outcome;
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
async fn the_newest_recordings_of_an_account_are_kept_small_and_large() {
    let stage = Stage::with(World::new(|config| config.limits.recordings_kept = 3), Default::default()).await;
    let (first, second) = (recorded_source(&stage, "first").await, recorded_source(&stage, "second").await);
    let large = json!("x".repeat(20_000));

    let mut ids = post(&stage, &first, &[json!(1), large.clone()]).await;
    ids.extend(post(&stage, &second, &[json!(3), json!(4)]).await);

    assert_eq!(inputs(&stage, &ids).await, [None, Some(large), Some(json!(3)), Some(json!(4))]);
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
    let tenant = &stage.caller.tenant;
    let query = store::EntryQuery::newest(9);
    let left = stage.world.platform.store.entries(tenant, "$recordings", "default", query).await.unwrap();
    assert_eq!(left.len(), 1, "{gone:?}");
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
