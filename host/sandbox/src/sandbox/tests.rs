//! What runs have while they wait.

use std::sync::Arc;
use std::time::Duration;

use super::{Config, Error, Sandbox, Task};
use crate::limits::Limits;
use crate::offline::Offline;
use crate::outcome::Outcome;
use crate::program::Program;
use crate::slots::Slots;

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

/// All that a run calls and reads is in its image. References to it are not counted, which would write to each page of it.
#[tokio::test]
async fn a_short_run_writes_to_few_pages_of_its_image() {
    let sandbox = Sandbox::open(Config::default()).await.unwrap();
    let code = "module.exports = {name: 'short', version: '1', props: {http: '$.interface.http'}, run({body}) {
        this.$emit({id: body.id, title: body.issue.title}, {id: body.id, summary: `#${body.issue.number}`});
    }}";
    let program = Arc::new(Program::single("component.js", code));
    let image = sandbox.build(program, Limits::default()).await.unwrap().image;
    let call = r#"{"kind":"run","event":{"method":"POST","body":{"id":"evt_1","issue":{"number":42,"title":"The answer"}}},
        "props":{"http":{"endpoint_url":"http://localhost/"}}}"#;

    let task = Task { tenant: "one", call, limits: Limits::default(), is_urgent: false, replay: None };
    let outcome = sandbox.run(&image, task, Arc::new(Offline::default())).await.unwrap();

    assert_eq!((outcome.emits.len(), outcome.fault), (1, None));
    let pages = sandbox.inner.engine.slots.dirty_pages(&image.snapshot);
    assert_eq!(pages.is_some(), Slots::prepare());
    assert!(pages.is_none_or(|pages| pages <= 24), "{pages:?}");
}

/// What a run may do to its instance, and whether that has another run then.
#[tokio::test]
async fn an_instance_has_another_run_when_only_its_memory_has_changed() {
    let sandbox = Sandbox::open(Config::default()).await.unwrap();
    let code = "module.exports = {name: 'any', version: '1', run(event) {
        const left = globalThis.left;
        globalThis.left = true;
        if (event === 'throws') throw new Error('on purpose');
        if (event === 'never ends') for (;;);
        if (event === 'waits') return new Promise((done) => setTimeout(done, 1e9));
        if (event === 'grows') this.kept = new Uint8Array(1 << 20).fill(1);
        this.$emit({left, kept: this.kept === undefined});
    }}";
    let program = Arc::new(Program::single("component.js", code));
    let image = sandbox.build(program, Limits::default()).await.unwrap().image;
    let ordinary = Limits { fuel: 50_000_000, wall_clock: Duration::from_millis(50), ..Limits::default() };
    let run = async |event: &str, limits| {
        let call = format!(r#"{{"kind":"run","event":"{event}"}}"#);
        let task = Task { tenant: "one", call: &call, limits, is_urgent: false, replay: None };
        sandbox.run(&image, task, Arc::new(Offline::default())).await
    };
    let is_kept = || sandbox.inner.engine.slots.has_instance(&image.snapshot);
    let first = run("nothing", ordinary).await.unwrap();

    for (event, is_kept_after) in
        [("nothing", true), ("throws", true), ("never ends", false), ("waits", false), ("grows", false)]
    {
        run(event, ordinary).await.unwrap();
        assert_eq!(is_kept(), is_kept_after, "after one that {event}");

        let again = run("nothing", ordinary).await.unwrap();
        assert!(is_kept());
        assert_eq!(again.emits[0].event.get(), r#"{"kept":true}"#, "after one that {event}");
        let used = |outcome: &Outcome| (outcome.usage.fuel, outcome.usage.peak_memory_bytes);
        assert_eq!(used(&again), used(&first), "after one that {event}");
    }

    let image_bytes = image.snapshot.length();
    let refused = run("nothing", Limits { memory_bytes: image_bytes - 1, ..ordinary }).await;
    assert!(matches!(refused, Err(Error::Instantiate(_))), "an instance that is there has the same limits");
    assert!(run("nothing", Limits { memory_bytes: image_bytes, ..ordinary }).await.is_ok());
}
