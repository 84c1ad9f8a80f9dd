//! Tests of what is deployed.

use std::path::Path;

use super::{COMPONENTS_MAXIMUM, entries, is_component, name_of};

#[test]
fn components_of_a_folder_are_its_files_of_code_without_apps_types_and_tests() {
    for name in ["hook.js", "hook.mjs", "poll.ts", "new-order.cjs"] {
        assert!(is_component(Path::new(name)), "{name}");
    }
    for name in ["slack.app.js", "types.d.ts", "hook.test.js", "eslint.config.js", "notes.md", ".hidden.js", "js"] {
        assert!(!is_component(Path::new(name)), "{name}");
    }
}

#[test]
fn a_folder_is_read_in_order_up_to_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..COMPONENTS_MAXIMUM {
        std::fs::write(folder.path().join(format!("{number:02}.js")), "").unwrap();
    }
    std::fs::create_dir(folder.path().join("folder.js")).unwrap();

    let found = entries(folder.path()).unwrap();
    std::fs::write(folder.path().join("more.js"), "").unwrap();

    assert_eq!((found.len(), found[0].file_name().unwrap()), (COMPONENTS_MAXIMUM, "00.js".as_ref()));
    assert!(entries(folder.path()).is_err());
    assert_eq!(entries(&folder.path().join("more.js")).unwrap().len(), 1);
}

#[test]
fn a_source_of_dev_is_named_after_its_file() {
    assert_eq!(name_of(Path::new("/a/new-order.js")), "dev-new-order");
}
