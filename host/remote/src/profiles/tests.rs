//! Tests of profiles.

use super::{Profile, Profiles};

fn profiles() -> Profiles {
    let profile = |url: &str| Profile { url: url.to_owned(), api_key: "hunter2".to_owned() };
    Profiles {
        current: Some("work".to_owned()),
        profiles: [("home".to_owned(), profile("http://h")), ("work".to_owned(), profile("http://w"))].into(),
    }
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/profiles.toml");

    profiles().write(&path).unwrap();

    assert_eq!(Profiles::read(&path).unwrap(), profiles());
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn the_named_one_counts_then_the_current_one() {
    let profiles = profiles();

    assert_eq!(profiles.choose(Some("home")).unwrap().unwrap().0, "home");
    assert_eq!(profiles.choose(None).unwrap().unwrap().0, "work");
    assert!(profiles.choose(Some("elsewhere")).is_err());
    assert!(Profiles::default().choose(None).unwrap().is_none());
}

#[test]
fn a_profile_is_not_printed_with_its_key() {
    assert!(!format!("{:?}", profiles()).contains("hunter2"));
}
