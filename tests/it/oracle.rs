//! The web platform inside the sandbox against Node: ten thousand generated cases, the same answer or a listed reason.
//!
//! What Node answers is recorded, so that any version of it can do the comparing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Limits, Program};

use crate::components::program_of;
use crate::generated::root;
use crate::stage::{Stage, run_call, sandbox};

fn folder() -> PathBuf {
    root().join("tests/oracle")
}

fn node(arguments: &[&Path]) -> std::process::Output {
    Command::new("node").args(arguments).output().expect("node is installed by tests/run.sh")
}

async fn sandbox_answers() -> String {
    let program: Program = program_of(&folder());
    let limits = Limits {
        fuel: u64::MAX / 2,
        wall_clock: Duration::from_secs(600),
        emitted_bytes: usize::MAX,
        ..Limits::default()
    };
    let image = sandbox().await.build(Arc::new(program), limits).await.expect("the oracle loads").image;
    let outcome = run_call(&image, r#"{"kind":"action","event":{}}"#, limits, Arc::new(Stage::default())).await;
    assert_eq!(outcome.fault, None);
    outcome.returned.unwrap().get().to_owned()
}

#[tokio::test]
async fn the_web_platform_answers_as_node_does() {
    let results = tempfile::tempdir().unwrap();
    let ours = results.path().join("sandbox.json");
    std::fs::write(&ours, sandbox_answers().await).unwrap();

    let compared = node(&[&folder().join("compare.js"), &ours]);

    let report = String::from_utf8_lossy(&compared.stdout);
    assert!(compared.status.success(), "{report}");
    println!("{}", report.trim());
}

#[test]
fn the_record_is_what_its_own_version_of_node_answers() {
    let checked = node(&[&folder().join("record.js")]);

    let report = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{report}");
    println!("{}", report.trim());
}
