//! Nothing survives from one run to the next, and nothing a component does to its globals reaches another.

use std::sync::Arc;

use sandbox::Limits;

use crate::stage::{Stage, load, run_image, source};

/// Runs `first` and then `second` as two runs of one component; returns what the second logged.
async fn second_run_sees(module_level: &str, first: &str, second: &str) -> Vec<String> {
    let body = format!("const round = this.db.get('round');\nif (round === 1) {{ {first} }} else {{ {second} }}");
    let image = load(&format!("{module_level}\n{}", source(&body))).await.unwrap();
    let mut logs = Vec::new();
    for round in ["1", "2"] {
        let services = Stage::default();
        services.stored.lock().unwrap().insert("round".into(), round.into());
        let outcome = run_image(&image, Limits::default(), Arc::new(services)).await;
        assert_eq!(outcome.fault, None);
        logs = outcome.logs.into_iter().map(|line| line.message).collect();
    }
    logs
}

#[tokio::test(start_paused = true)]
async fn globals_do_not_survive() {
    let seen =
        second_run_sees("", "globalThis.leak = 1; undeclared = 2;", "console.log(typeof leak, typeof undeclared)")
            .await;

    assert_eq!(seen, ["undefined undefined"]);
}

#[tokio::test(start_paused = true)]
async fn module_state_starts_as_it_was_loaded() {
    let seen = second_run_sees(
        "let count = 10; const seen = [];",
        "count = 99; seen.push(1);",
        "console.log(count, seen.length)",
    )
    .await;

    assert_eq!(seen, ["10 0"]);
}

#[tokio::test(start_paused = true)]
async fn prototypes_do_not_survive() {
    let seen = second_run_sees(
        "",
        "Object.prototype.leak = 1; Array.prototype.map = null; Promise.prototype.then = null; JSON.parse = null;",
        "console.log(({}).leak, typeof [].map, typeof JSON.parse)",
    )
    .await;

    assert_eq!(seen, ["undefined function function"]);
}

#[tokio::test(start_paused = true)]
async fn the_exported_component_cannot_be_changed_for_the_next_run() {
    let seen = second_run_sees(
        "",
        "module.exports.run = null; module.exports.methods = {leak() {}};",
        "console.log(typeof module.exports.methods)",
    )
    .await;

    assert_eq!(seen, ["undefined"]);
}

#[tokio::test(start_paused = true)]
async fn timers_do_not_survive() {
    let seen = second_run_sees(
        "",
        "setInterval(() => console.log('leak'), 1);",
        "await new Promise((done) => setTimeout(done, 50)); console.log('end')",
    )
    .await;

    assert_eq!(seen, ["end"]);
}

#[tokio::test(start_paused = true)]
async fn timers_set_while_loading_do_not_reach_a_run() {
    let seen = second_run_sees(
        "setInterval(() => console.log('leak'), 1);",
        "",
        "await new Promise((done) => setTimeout(done, 50)); console.log('end')",
    )
    .await;

    assert_eq!(seen, ["end"]);
}

#[tokio::test(start_paused = true)]
async fn random_numbers_differ_between_runs_also_after_use_while_loading() {
    let image = load(&format!("Math.random();\n{}", source("console.log(Math.random())"))).await.unwrap();

    let mut seen = Vec::new();
    for _ in 0..3 {
        let outcome = run_image(&image, Limits::default(), Arc::new(Stage::default())).await;
        seen.push(outcome.logs[0].message.clone());
    }

    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn two_components_do_not_share_anything() {
    let writer = load(&source("globalThis.shared = 1; require.cache && (require.cache.x = 1); console.log('written')"))
        .await
        .unwrap();
    let reader = load(&source("console.log(typeof shared)")).await.unwrap();

    run_image(&writer, Limits::default(), Arc::new(Stage::default())).await;
    let outcome = run_image(&reader, Limits::default(), Arc::new(Stage::default())).await;

    assert_eq!(outcome.logs[0].message, "undefined");
}
