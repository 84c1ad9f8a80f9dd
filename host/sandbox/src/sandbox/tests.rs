//! What runs have while they wait.

use std::sync::Arc;

use super::{Config, Sandbox, Task};
use crate::limits::Limits;
use crate::offline::Offline;
use crate::program::Program;

#[tokio::test]
async fn what_waits_for_its_first_turn_has_no_memory() {
    let sandbox = Sandbox::open(Config::default()).await.unwrap();
    let endless = "module.exports = {name: 'endless', version: '1', run() { for (;;); }}";
    let program = Arc::new(Program::single("component.js", endless));
    let image = sandbox.build(program, Limits::default()).await.unwrap().image;
    let turns = 4 * std::thread::available_parallelism().unwrap().get();
    let held = || Arc::strong_count(&image.snapshot);
    let before = held();

    let runs = (0..8 * turns).map(|_| {
        let (sandbox, image) = (sandbox.clone(), image.clone());
        tokio::spawn(async move {
            let call = r#"{"kind":"run","event":{}}"#;
            let task = Task { tenant: "busy", call, limits: Limits::default(), is_urgent: false, replay: None };
            sandbox.run(&image, task, Arc::new(Offline::default())).await
        })
    });
    let runs: Vec<_> = runs.collect();
    // Each is polled once: those with a turn use it up, and are ready for the next.
    tokio::task::yield_now().await;
    let admitted = runs.len().min(64);
    let of_memories = held() - before - runs.len() - admitted;

    assert!((1..=turns).contains(&of_memories), "{of_memories} of {admitted} runs have memory");
    runs.iter().for_each(tokio::task::JoinHandle::abort);
}
