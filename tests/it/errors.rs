//! What an author learns of an error: where it happened, what was thrown, what caused it, and that nothing goes unheard.

use std::sync::Arc;

use sandbox::{Fault, Limits, Outcome, Thrown};

use crate::stage::{Stage, load, run_image};

/// What a component whose run is `body` fails with. The body's first line is line 2.
async fn thrown_by(body: &str) -> (Thrown, Outcome) {
    let source = format!("module.exports = {{name: 'test', version: '1', async run(event) {{\n{body}\n}}}};");
    let image = load(&source).await.expect("the component loads");
    let mut outcome = run_image(&image, Limits::default(), Arc::new(Stage::default())).await;
    let Some(Fault::Threw(thrown)) = outcome.fault.take() else { panic!("nothing was thrown by\n{body}") };
    (thrown, outcome)
}

/// Bodies, each with the place of its error: the lines and columns that Node reports.
const PLACES: &[(&str, (u32, u32))] = &[
    ("const x = null;\nconst y = x.foo;", (3, 13)),
    ("const x = null;\nconst z = x\n  .foo\n  .bar;", (4, 4)),
    ("const a = {};\nconst r = a.b\n  .c\n  .d;", (4, 4)),
    ("const n = null;\nconst w = n\n  [\n  'x'\n];", (4, 3)),
    ("const a = {};\nconst c = {\n  d: 1,\n  e: a.b.c,\n  f: 2,\n};", (5, 10)),
    ("const a = {};\nconst t = `x ${1}\n ${a.b.c} `;", (4, 8)),
    ("const n = null;\nreturn n\n  && 1\n  || n.x;", (5, 8)),
    ("const x = {};\nx.foo(\n  1,\n  2 * 3,\n);", (3, 3)),
    ("const x = {};\nx.foo.bar(\n  x.y,\n  2 * 3,\n);", (3, 7)),
    ("const e = 1;\nconst f = new Error(\n  'a' +\n  'b',\n);\nthrow f;", (3, 11)),
    ("const a = 1;\nconst s = new Map([\n  [1, 2],\n  3,\n]);", (3, 11)),
    ("const a = 1;\nconst b = undeclared;", (3, 11)),
    ("const a = 1;\nconst {b} = null;", (3, 7)),
    ("const a = 1;\nconst {\n  b: {c},\n} = {};", (4, 6)),
    ("let a = null;\na.b =\n  1 +\n  2;", (3, 5)),
    ("const a = 1n;\nconst b =\n  a\n  + 1;", (5, 3)),
    ("const u = undefined;\nconst a = [\n  1,\n  ...u,\n];", (5, 6)),
    ("const a = 1;\nawait fetch('https://x.example/');", (3, 7)),
    ("const q = 1;\nconst p = JSON.parse(\n  '{',\n);", (3, 16)),
];

#[tokio::test(start_paused = true)]
async fn an_error_is_reported_at_its_own_line_and_column() {
    for (body, place) in PLACES {
        let (thrown, _) = thrown_by(body).await;

        assert_eq!((thrown.line, thrown.column), (Some(place.0), Some(place.1)), "{body}\n{}", thrown.stack);
        assert_eq!(thrown.file.as_deref(), Some("component.js"), "{body}\n{}", thrown.stack);
    }
}

#[tokio::test(start_paused = true)]
async fn every_frame_of_a_stack_is_at_the_line_of_its_call() {
    let body = "const inner = () => {\n  throw new Error('x');\n};\nconst outer = (value) => inner(value);\nconst a = 1;\n\
                outer(\n  a,\n  String(a + 1),\n);";
    let (thrown, _) = thrown_by(body).await;

    let places: Vec<&str> =
        thrown.stack.lines().skip(1).filter_map(|line| line.split_once("js:")).map(|at| at.1).collect();
    assert_eq!(places, ["3:9)", "5:26)", "7:1)"], "{}", thrown.stack);
}

#[tokio::test(start_paused = true)]
async fn what_is_thrown_and_no_error_is_shown_as_the_value_it_is() {
    for (body, shown) in [
        ("throw {a: 1, b: [2, {c: null}]}", "{ a: 1, b: [ 2, { c: null } ] }"),
        ("throw 'x'", "'x'"),
        ("throw null", "null"),
        ("throw undefined", "undefined"),
        ("return Promise.reject(42)", "42"),
        ("throw Object.create(null)", "[Object: null prototype] {}"),
        ("throw {message: 'm', code: 5}", "{ message: 'm', code: 5 }"),
        ("throw {get a() { throw 1 }}", "{ a: [Getter] }"),
        ("throw new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }})", "a value that cannot be shown"),
    ] {
        let (thrown, _) = thrown_by(body).await;

        assert_eq!((thrown.name.as_str(), thrown.message.as_str()), ("Uncaught", shown), "{body}");
        assert_eq!(thrown.stack, format!("Uncaught: {shown}"), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_comes_with_its_causes() {
    let body = "const low = Object.assign(new RangeError('low'), {code: 'ELOW'});\n\
                throw new Error('high', {cause: new TypeError('middle', {cause: low})});";
    let (thrown, _) = thrown_by(body).await;

    let middle = thrown.cause.expect("a cause");
    assert_eq!((middle.name.as_str(), middle.message.as_str(), middle.line), ("TypeError", "middle", Some(3)));
    let low = middle.cause.expect("the cause of the cause");
    assert_eq!((low.message.as_str(), low.code, low.cause), ("low", Some("ELOW".into()), None));
    let shown = [
        "Error: high",
        "    at run (component.js:3:7) {",
        "  [cause]: TypeError: middle",
        "      at run (component.js:3:33) {",
        "    [cause]: RangeError: low",
        "        at run (component.js:2:27)",
        "  }",
        "}",
    ];
    assert_eq!(thrown.stack.lines().collect::<Vec<_>>(), shown);
}

#[tokio::test(start_paused = true)]
async fn causes_of_every_kind_are_shown_and_a_circle_ends() {
    for (body, shown) in [
        ("throw new Error('e', {cause: 'why'})", "[cause]: 'why'"),
        ("throw new Error('e', {cause: {status: 500}})", "[cause]: { status: 500 }"),
        ("await Promise.any([Promise.reject(new Error('one')), Promise.reject(2)])", "[error]: Error: one"),
        ("const e = new Error('e'); e.cause = e; throw e", "Error: e"),
        ("const a = new Error('a'); a.cause = new Error('b', {cause: a}); throw a", "[cause]: Error: b"),
        (
            "let e = 0; for (let n = 0; n < 1000; n++) e = new Error('n' + n, {cause: e}); throw e",
            "[cause]: Error: n998",
        ),
    ] {
        let (thrown, _) = thrown_by(body).await;

        assert!(thrown.stack.contains(shown), "{body}\n{}", thrown.stack);
    }
}

#[tokio::test(start_paused = true)]
async fn a_logged_error_shows_its_causes_and_properties_as_node_does() {
    let source = "module.exports = {name: 'x', version: '1', run() {\n\
                  const error = new Error('high', {cause: new Error('low')}); error.code = 'E1'; console.log(error); }};";
    let image = load(source).await.unwrap();
    let outcome = run_image(&image, Limits::default(), Arc::new(Stage::default())).await;

    let shown = [
        "Error: high",
        "    at run (component.js:2:15) {",
        "  code: 'E1',",
        "  [cause]: Error: low",
        "      at run (component.js:2:41)",
        "}",
    ];
    assert_eq!(outcome.logs[0].message.lines().collect::<Vec<_>>(), shown);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_that_nothing_handles_fails_the_run() {
    for body in [
        "Promise.reject(new Error('lost'));",
        "Promise.reject(new Error('lost')); return 1;",
        "(async () => { throw new Error('lost') })(); await null;",
        "Promise.resolve().then(() => { throw new Error('lost') });",
        "new Promise((_, reject) => setTimeout(() => reject(new Error('lost')), 5)); \
         await new Promise((resolve) => setTimeout(resolve, 50));",
        // Handled, but only after all jobs had run: Node does not wait, either.
        "const late = Promise.reject(new Error('lost')); \
         await new Promise((resolve) => setTimeout(resolve, 1)); await late.catch(() => {});",
        "queueMicrotask(() => { throw new Error('lost') });",
        "process.nextTick(() => { throw new Error('lost') });",
    ] {
        let (thrown, outcome) = thrown_by(body).await;

        assert_eq!((thrown.message.as_str(), thrown.line), ("lost", Some(2)), "{body}");
        assert!(outcome.returned.is_none(), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_of_several_rejections_is_the_error_and_the_others_are_logged() {
    let (thrown, outcome) = thrown_by("for (const n of [1, 2, 3]) Promise.reject(new Error('lost ' + n));").await;

    assert_eq!(thrown.message, "lost 1");
    let logged: Vec<&str> = outcome.logs.iter().filter_map(|line| line.message.lines().next()).collect();
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert!(logged[0].contains("nothing handles it") && logged[2].ends_with("Error: lost 3"), "{logged:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rejection_that_is_handled_before_all_jobs_have_run_is_none() {
    for body in [
        "const late = Promise.reject(1); await null; await null; await late.catch(() => {});",
        "await Promise.allSettled([Promise.reject(1)]);",
        "const p = Promise.reject(1); process.nextTick(() => p.catch(() => {}));",
        "try { await (async () => { throw 1 })() } catch {}",
        "await Promise.race([Promise.resolve(), new Promise((_, reject) => setTimeout(reject, 1))]); \
         await new Promise((resolve) => setTimeout(resolve, 5));",
        "for await (const x of (async function* () { yield 1 })()) x;",
        "const c = new AbortController(); c.abort(); await fetch('https://x.example/', {signal: c.signal}).catch(() => {});",
        "await fetch('https://x.example/').catch(() => {});",
        "const s = new ReadableStream({start(c) { c.error(new Error('x')) }}); await s.getReader().read().catch(() => {});",
    ] {
        let source = format!("module.exports = {{name: 'test', version: '1', async run() {{\n{body}\n}}}};");
        let image = load(&source).await.unwrap();
        let outcome = run_image(&image, Limits::default(), Arc::new(Stage::default())).await;

        assert_eq!(outcome.fault, None, "{body}");
    }
}
