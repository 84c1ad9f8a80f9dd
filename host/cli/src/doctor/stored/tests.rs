//! Tests of the checks of what is stored.

use std::os::unix::fs::PermissionsExt;

use store::embedded::Inspection;

use super::{SPACE_NEEDED_BYTES, SPACE_WANTED_BYTES, check_folder, judge, space_left};
use crate::doctor::Level;

#[test]
fn little_space_warns_and_next_to_none_fails() {
    assert_eq!(space_left(SPACE_WANTED_BYTES).level, Level::Ok);
    assert_eq!(space_left(SPACE_WANTED_BYTES - 1).level, Level::Warn);
    assert_eq!(space_left(SPACE_NEEDED_BYTES).level, Level::Warn);
    assert_eq!(space_left(SPACE_NEEDED_BYTES - 1).level, Level::Fail);
}

#[test]
fn a_folder_that_others_can_read_is_told_with_the_command_that_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();

    let found = check_folder(folder.path());

    assert_eq!(found[0].level, Level::Warn);
    assert!(found[0].advice.as_ref().unwrap().starts_with("chmod 700 "));
}

#[test]
fn damage_and_a_newer_schema_fail() {
    let sound = Inspection { is_in_use: false, schema: 1, known_schema: 1, damage: Vec::new() };
    let newer = Inspection { schema: 2, ..sound.clone() };
    let damaged = Inspection { damage: vec!["row 1 missing".into()], ..sound };

    assert_eq!(judge(&sound).level, Level::Ok);
    assert_eq!(judge(&newer).level, Level::Fail);
    assert_eq!(judge(&damaged).level, Level::Fail);
}
