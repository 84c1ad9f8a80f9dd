//! Data folders that earlier versions wrote: a newer server reads them, and everything in them goes on.
//!
//! `upgrade/` has the store of each layout, written by the server of its time: a source with a secret prop, state and events, a
//! webhook that listens to it, and a workflow. A layout that is added here is never taken out.

use flate2::read::GzDecoder;
use rig::served::DataFolder;
use serde_json::{Value, json};

use crate::cli::Developer;
use crate::generated::root;

/// The folder of a server that was stopped, as its version left it.
pub(crate) fn folder_of(layout: &str) -> DataFolder {
    let place = DataFolder::new();
    let packed = std::fs::File::open(root().join("tests/it/upgrade").join(layout)).unwrap();
    tar::Archive::new(GzDecoder::new(packed)).unpack(place.data()).unwrap();
    place
}

/// By name, the oldest first.
pub(crate) fn layouts() -> Vec<String> {
    let folder = std::fs::read_dir(root().join("tests/it/upgrade")).unwrap();
    let mut layouts: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    layouts.sort();
    assert!(!layouts.is_empty());
    layouts
}

fn emitted(developer: &Developer) -> Value {
    developer.json(&["run", "counter"])["emitted"][0]["event"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_earlier_layout_is_read_and_goes_on() {
    for layout in layouts() {
        let place = folder_of(&layout);
        let server = place.start().await;
        let developer = Developer::logged_in(&server);

        let events = developer.run(&["events", "counter"]);
        assert!(events.contains("number 2") && events.contains("number 4"), "{layout}: {events}");
        assert_eq!(emitted(&developer), json!({"count": 6, "token": "hunter2"}), "{layout}: state and secrets");
        let history = developer.json(&["history", "counter"]);
        assert_eq!((history.as_array().unwrap().len(), &history[0]["version"]), (1, &json!(1)), "{layout}");
        developer.run(&["update", "counter", "--prop", "step=10"]);
        assert_eq!(emitted(&developer)["count"], 16, "{layout}");
        developer.run(&["rollback", "counter"]);
        assert_eq!(emitted(&developer), json!({"count": 18, "token": "hunter2"}), "{layout}");
        assert!(developer.run(&["webhooks"]).contains("https://example.invalid/hook"), "{layout}");
        let ran = developer.run(&["workflows", "run", "Flow", "--event", r#"{"body": "still here"}"#]);
        assert!(ran.contains("still here"), "{layout}: {ran}");
        server.stop().await;
    }
}
