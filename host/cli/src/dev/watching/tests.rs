//! Tests of watching.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, CreateKind, DataChange, ModifyKind};
use notify::{Event, EventKind};

use super::{Watching, is_a_save};

const PATIENCE: Duration = Duration::from_secs(30);

fn event(kind: EventKind, path: &str) -> Event {
    Event::new(kind).add_path(Path::new(path).to_owned())
}

#[test]
fn a_save_is_a_write_to_a_file_of_the_author() {
    let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    let outside = BTreeSet::from([PathBuf::from("/home/shared/x.js")]);
    let is_a_save = |event: &Event| is_a_save(event, Path::new("/home/ada"), &outside);

    assert!(is_a_save(&event(write, "/home/ada/hook.js")));
    assert!(is_a_save(&event(write, "/home/ada/.secrets.env")));
    assert!(is_a_save(&event(EventKind::Create(CreateKind::File), "/home/ada/new.js")));
    assert!(!is_a_save(&event(EventKind::Access(AccessKind::Any), "/home/ada/hook.js")));
    assert!(!is_a_save(&event(write, "/home/ada/node_modules/x/index.js")));
    assert!(!is_a_save(&event(write, "/home/ada/.wellspring/store.db-wal")));
    assert!(is_a_save(&event(write, "/home/shared/x.js")));
    assert!(!is_a_save(&event(write, "/home/shared/y.js")));
}

#[test]
fn a_folder_may_lie_in_one_whose_name_is_not_the_authors_inside_of_it() {
    let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));

    let saved = is_a_save(&event(write, "/x/node_modules/y/hook.js"), Path::new("/x/node_modules/y"), &BTreeSet::new());

    assert!(saved);
}

#[tokio::test]
async fn a_file_that_is_saved_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hook.js");
    std::fs::write(&file, "1").unwrap();
    let mut watching = Watching::start(&file).unwrap();

    std::fs::write(&file, "2").unwrap();

    tokio::time::timeout(PATIENCE, watching.changed(None)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_file_outside_of_the_folder_is_noticed_too_also_when_it_is_replaced() {
    let place = tempfile::tempdir().unwrap();
    let [folder, shared] = ["folder", "shared"].map(|name| place.path().canonicalize().unwrap().join(name));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&shared).unwrap();
    let file = shared.join("x.js");
    std::fs::write(&file, "1").unwrap();
    let mut watching = Watching::start(&folder).unwrap();
    watching.also(BTreeSet::from([file.clone()]));

    for text in ["2", "3"] {
        let whole = shared.join("x.js.new");
        std::fs::write(&whole, text).unwrap();
        std::fs::rename(&whole, &file).unwrap();

        tokio::time::timeout(PATIENCE, watching.changed(None)).await.unwrap().unwrap();
    }
}
