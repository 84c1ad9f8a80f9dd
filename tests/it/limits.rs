//! Every limit at its bound: what is allowed passes, one more ends the run with a fault that names the limit.

use std::sync::Arc;
use std::time::Duration;

use admission::{Full, Scope, Share};
use sandbox::{Config, Error, Fault, LimitKind, Limits, Outcome, Program, Task};

use crate::stage::{Stage, config, load, open, run, run_image, source};

async fn run_body(body: &str, limits: Limits) -> Outcome {
    run(&source(body), limits).await
}

/// `allowed` stays within `limits`, `refused` goes one beyond.
async fn check_bound(limits: Limits, allowed: &str, refused: &str, what: LimitKind) {
    assert_eq!(run_body(allowed, limits).await.fault, None, "{what}: at the bound");
    let fault = run_body(refused, limits).await.fault;
    assert!(matches!(fault, Some(Fault::TooMuchOutput { what: found, .. }) if found == what), "{what}: {fault:?}");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_emits_is_bounded() {
    let limits = Limits { emits: 3, ..Limits::default() };
    let emit = |count| format!("for (let i = 0; i < {count}; i++) this.$emit(i)");

    check_bound(limits, &emit(3), &emit(4), LimitKind::Emits).await;
}

#[tokio::test(start_paused = true)]
async fn the_size_of_an_event_is_bounded() {
    // The event as JSON is two quotes longer than its text, and its metadata is `{}`.
    let limits = Limits { event_bytes: 100, ..Limits::default() };
    let emit = |length: usize| format!("this.$emit('x'.repeat({length}))");

    check_bound(limits, &emit(96), &emit(97), LimitKind::EventBytes).await;
}

#[tokio::test(start_paused = true)]
async fn the_size_of_all_events_is_bounded() {
    let limits = Limits { emitted_bytes: 200, ..Limits::default() };
    let emit = |length: usize| format!("this.$emit('x'.repeat(96)); this.$emit('x'.repeat({length}))");

    check_bound(limits, &emit(96), &emit(97), LimitKind::EmittedBytes).await;
}

#[tokio::test(start_paused = true)]
async fn the_number_of_log_lines_is_bounded() {
    let limits = Limits { log_lines: 3, ..Limits::default() };
    let log = |count| format!("for (let i = 0; i < {count}; i++) console.log(i)");

    check_bound(limits, &log(3), &log(4), LimitKind::LogLines).await;
}

#[tokio::test(start_paused = true)]
async fn the_size_of_the_log_is_bounded() {
    let limits = Limits { log_bytes: 100, ..Limits::default() };
    let log = |length: usize| format!("console.log('x'.repeat({length}))");

    check_bound(limits, &log(100), &log(101), LimitKind::LogBytes).await;
}

#[tokio::test(start_paused = true)]
async fn the_size_of_a_stored_value_is_bounded() {
    let limits = Limits { db_value_bytes: 100, ..Limits::default() };
    let set = |length: usize| format!("this.db.set('k', 'x'.repeat({length}))");

    check_bound(limits, &set(98), &set(99), LimitKind::DbValueBytes).await;
}

#[tokio::test(start_paused = true)]
async fn the_size_of_a_key_is_bounded() {
    let limits = Limits { db_key_bytes: 10, ..Limits::default() };
    let set = |length: usize| format!("this.db.set('k'.repeat({length}), 1)");

    check_bound(limits, &set(10), &set(11), LimitKind::DbKeyBytes).await;
}

#[tokio::test(start_paused = true)]
async fn the_size_of_all_writes_is_bounded() {
    let limits = Limits { db_written_bytes: 100, ..Limits::default() };
    let set = |length: usize| format!("this.db.set('k', 'x'.repeat(47)); this.db.set('k', 'x'.repeat({length}))");

    check_bound(limits, &set(47), &set(48), LimitKind::DbWrittenBytes).await;
}

#[tokio::test(start_paused = true)]
async fn fuel_is_bounded_and_counted() {
    let used = run_body("let sum = 0; for (let i = 0; i < 1e5; i++) sum += i", Limits::default()).await.usage.fuel;
    assert!(used > 100_000);

    let enough = Limits { fuel: used * 2, ..Limits::default() };
    let short = Limits { fuel: used / 2, ..Limits::default() };
    let body = "let sum = 0; for (let i = 0; i < 1e5; i++) sum += i";

    assert_eq!(run_body(body, enough).await.fault, None);
    assert_eq!(run_body(body, short).await.fault, Some(Fault::OutOfFuel { limit: short.fuel }));
}

#[tokio::test(start_paused = true)]
async fn the_wall_clock_is_bounded() {
    let limits = Limits { wall_clock: Duration::from_secs(10), ..Limits::default() };
    let wait = |ms| format!("await new Promise((done) => setTimeout(done, {ms}))");

    assert_eq!(run_body(&wait(9_900), limits).await.fault, None);
    assert_eq!(run_body(&wait(10_100), limits).await.fault, Some(Fault::Deadline { limit: limits.wall_clock }));
}

/// The deadline is looked at whenever the guest gives way, every 125 000 units of fuel.
#[tokio::test]
async fn a_run_that_computes_is_ended_by_the_wall_clock_when_it_has_fuel_left() {
    let limits = Limits { wall_clock: Duration::from_millis(200), fuel: u64::MAX >> 1, ..Limits::default() };

    let outcome = run_body("for (;;);", limits).await;

    assert_eq!(outcome.fault, Some(Fault::Deadline { limit: limits.wall_clock }));
}

/// So that no operation on all of memory costs little fuel and much time: docs/decisions/0012.
#[tokio::test]
async fn a_run_that_copies_memory_is_ended_by_the_wall_clock_in_time() {
    let limits = Limits { wall_clock: Duration::from_millis(200), ..Limits::default() };
    for body in [
        "for (;;) new Uint8Array(60 << 20)",
        "const a = new Uint8Array(60 << 20); for (;;) a.fill(1)",
        "const a = new Uint8Array(40 << 20); for (;;) a.slice()",
        "const a = new Uint8Array(40 << 20), b = new Uint8Array(40 << 20); for (;;) a.set(b)",
        "const a = 'x'.repeat(30 << 20); for (;;) a + 'y'",
    ] {
        let outcome = run_body(body, limits).await;

        assert_eq!(outcome.fault, Some(Fault::Deadline { limit: limits.wall_clock }), "{body}");
        // Milliseconds on an idle machine; the bound is for one that also compiles.
        assert!(outcome.usage.wall_clock < limits.wall_clock + Duration::from_secs(1), "{body}: {:?}", outcome.usage);
    }
}

/// A run that finds none left is refused as one that finds no place is: it may be made again when others have ended.
#[tokio::test(start_paused = true)]
async fn the_memory_that_runs_of_a_tenant_add_is_bounded() {
    let sandbox = open(Config { run_bytes: Share::new(64 << 20, 8 << 20), ..config() }).await;
    let run = async |megabytes: usize| {
        let body = format!("this.all = Array.from({{length: {megabytes}}}, () => new Uint8Array(1 << 20).fill(1))");
        let program = Arc::new(Program::single("component.js", source(&body)));
        let image = sandbox.build(program, Limits::default()).await.unwrap().image;
        let call = r#"{"kind":"run","event":{}}"#;
        let task = Task { tenant: "test", call, limits: Limits::default(), is_urgent: false, replay: None };
        sandbox.run(&image, task, Arc::new(Stage::default())).await
    };

    assert_eq!(run(6).await.unwrap().fault, None);
    let refused = run(12).await.err();
    let full = Full { what: "run_bytes", scope: Scope::Tenant };
    assert!(matches!(&refused, Some(Error::Overloaded(found)) if *found == full), "{refused:?}");
    assert_eq!(run(6).await.unwrap().fault, None, "what it had was given back");
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_its_peak_reported() {
    let limits = Limits { memory_bytes: 16 << 20, ..Limits::default() };
    let take = |megabytes: usize| {
        format!("const all = []; for (let i = 0; i < {megabytes}; i++) all.push(new Uint8Array(1 << 20).fill(1))")
    };

    let modest = run_body(&take(4), limits).await;
    let greedy = run_body(&take(20), limits).await;

    assert_eq!(modest.fault, None);
    assert!((4 << 20..=16 << 20).contains(&modest.usage.peak_memory_bytes), "{}", modest.usage.peak_memory_bytes);
    assert_eq!(greedy.fault, Some(Fault::OutOfMemory { limit_bytes: 16 << 20 }));
}

#[tokio::test(start_paused = true)]
async fn what_was_done_before_a_fault_is_kept() {
    let outcome = run_body(
        "this.$emit({n: 1}); console.log('before'); this.db.set('k', 1); for (;;);",
        Limits { fuel: 100_000_000, ..Limits::default() },
    )
    .await;

    assert_eq!(outcome.fault.map(|fault| fault.code()), Some("out_of_fuel"));
    assert_eq!((outcome.emits.len(), outcome.logs.len(), outcome.writes.len()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn effects_are_bounded() {
    let limits = Limits { effects: 2, ..Limits::default() };
    let image = load("module.exports = {name: 'a', version: '1', type: 'action', run({steps, $}) { for (let i = 0; i < steps.n; i++) $.export('x' + i, i); }};").await.unwrap();

    for (count, expected) in [(2, None), (3, Some("too_much_output"))] {
        let call = format!(r#"{{"kind":"action","steps":{{"n":{count}}}}}"#);
        let outcome = crate::stage::run_call(&image, &call, limits, Arc::new(Stage::default())).await;

        assert_eq!(outcome.fault.map(|fault| fault.code()), expected);
    }
}

/// A source that answers with this.
async fn reply(reply: &str, limits: Limits) -> Outcome {
    let code = format!(
        "module.exports = {{name: 'r', version: '1', props: {{http: {{type: '$.interface.http', customResponse: true}}}}, \
         run() {{ this.http.respond({reply}); }}}};"
    );
    run_image(&load(&code).await.unwrap(), limits, Arc::new(Stage::default())).await
}

async fn check_reply(limits: Limits, allowed: &str, refused: &str, what: LimitKind) {
    let within = reply(allowed, limits).await;
    assert_eq!((within.fault, within.has_replied), (None, true), "{what}: at the bound");
    let beyond = reply(refused, limits).await;
    assert!(!beyond.has_replied, "{what}: nothing is answered");
    let fault = beyond.fault;
    assert!(matches!(fault, Some(Fault::TooMuchOutput { what: found, .. }) if found == what), "{what}: {fault:?}");
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_reply_is_bounded() {
    let limits = Limits { reply_bytes: 200, ..Limits::default() };
    let body = |length: usize| format!("{{status: 200, headers: {{a: 'b'}}, body: 'x'.repeat({length})}}");

    check_reply(limits, &body(200), &body(201), LimitKind::ReplyBytes).await;
}

#[tokio::test(start_paused = true)]
async fn the_headers_of_a_reply_are_bounded_in_number_and_size() {
    let limits = Limits { reply_headers: 4, reply_header_bytes: 100, ..Limits::default() };
    let many = |count: usize| format!("{{status: 200, headers: {{a: Array({count}).fill('')}}}}");
    let large = |length: usize| format!("{{status: 200, headers: {{abc: 'x'.repeat({length})}}}}");
    let escaped = |length: usize| format!("{{status: 200, headers: {{abc: '\\t'.repeat({length})}}}}");

    check_reply(limits, &many(4), &many(5), LimitKind::ReplyHeaders).await;
    check_reply(limits, &large(97), &large(98), LimitKind::ReplyHeaderBytes).await;
    check_reply(limits, &escaped(97), &large(1 << 20), LimitKind::ReplyHeaderBytes).await;
}
