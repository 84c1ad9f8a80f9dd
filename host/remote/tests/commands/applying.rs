//! What `apply` takes for the folder's own, and what it leaves alone.

use serde_json::json;

use crate::client::Machine;
use crate::versions::{running, server_with, shop};

#[test]
fn apply_of_one_file_deletes_nothing_and_does_not_say_what_is_gone() {
    let (fake, machine) = shop();

    for file in ["shop/new.js", "new.js"] {
        let mut refused = machine.client(&["apply", file, "--yes", "--prune"]);
        if file == "new.js" {
            refused.current_dir(machine.folder().join("shop"));
        }
        let refused = crate::client::Ran::from(refused.output().unwrap());
        let told = format!(
            "error: --prune needs a folder, and {file} is one file: what is gone cannot be told from it\nhint: apply the folder that it is in, or leave --prune out\n"
        );
        assert_eq!((refused.code, refused.stderr), (2, told));
    }
    assert_eq!(fake.changes(), Vec::<String>::new());
    let applied = machine.run(&["apply", "shop/new.js", "--yes"]).succeeded();

    assert!(!applied.stderr.contains("no longer in the folder"), "{}", applied.stderr);
    assert_eq!(fake.seen("POST /v1/sources")[0].body["project"], "shop");
    assert!(fake.changes().iter().all(|line| !line.starts_with("DELETE /v1/sources")), "{:?}", fake.changes());
}

#[test]
fn the_project_of_a_file_is_named_after_the_folder_that_it_is_in() {
    let fake = server_with(&[], json!([]));
    let machine = Machine::of(&fake);
    machine.file("shop/new.js", "");

    let mut apply = machine.client(&["apply", "new.js", "--yes"]);
    let ran = crate::client::Ran::from(apply.current_dir(machine.folder().join("shop")).output().unwrap()).succeeded();

    assert_eq!(fake.seen("POST /v1/sources")[0].body["project"], "shop", "{}", ran.to_text());
}

#[test]
fn prune_does_not_take_what_dev_deployed_for_the_folders_own() {
    let mut developed = running("dc_Dev000000001", "developed", "developed", 1);
    developed["project"] = json!("dev");
    let fake = server_with(&[developed], json!([]));
    let machine = Machine::of(&fake);
    machine.file("dev/new.js", "");

    let refused = machine.run(&["apply", "dev", "--yes", "--prune"]);

    assert_eq!(refused.code, 2, "{}", refused.to_text());
    assert!(refused.stderr.contains("wellspring dev"), "{}", refused.stderr);
    assert_eq!(fake.changes(), Vec::<String>::new());
}

#[test]
fn a_folder_that_is_not_there_is_told_before_anything_is_asked() {
    let fake = server_with(&[], json!([]));

    let ran = Machine::of(&fake).run(&["apply", "nowhere", "--prune"]);

    assert!(ran.stderr.starts_with("error: cannot read nowhere: "), "{}", ran.stderr);
}
