//! Tests of watching.

use std::path::Path;

use notify::event::{AccessKind, CreateKind, DataChange, ModifyKind};
use notify::{Event, EventKind};

use super::{Watching, is_a_save};

fn event(kind: EventKind, path: &str) -> Event {
    Event::new(kind).add_path(Path::new(path).to_owned())
}

#[test]
fn a_save_is_a_write_to_a_file_of_the_author() {
    let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));

    assert!(is_a_save(&event(write, "/home/ada/hook.js")));
    assert!(is_a_save(&event(EventKind::Create(CreateKind::File), "/home/ada/new.js")));
    assert!(!is_a_save(&event(EventKind::Access(AccessKind::Any), "/home/ada/hook.js")));
    assert!(!is_a_save(&event(write, "/home/ada/node_modules/x/index.js")));
    assert!(!is_a_save(&event(write, "/home/ada/.wellspring/store.db-wal")));
}

#[tokio::test]
async fn a_file_that_is_saved_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hook.js");
    std::fs::write(&file, "1").unwrap();
    let mut watching = Watching::start(&file).unwrap();

    std::fs::write(&file, "2").unwrap();

    tokio::time::timeout(std::time::Duration::from_secs(30), watching.changed()).await.unwrap().unwrap();
}
