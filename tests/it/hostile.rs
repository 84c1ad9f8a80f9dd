//! Components that mean harm. Each ends with the fault it deserves, the host lives, and the next run of another
//! component is unharmed.
//!
//! Time is virtual here, unless runs are made in worker processes: what waits for ever meets its deadline at once.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{Fault, Limits};

use crate::stage::{Stage, load, run_image, source};

/// Small, so that attacks end soon.
fn limits() -> Limits {
    Limits {
        fuel: 1_500_000_000,
        wall_clock: Duration::from_secs(10),
        memory_bytes: 48 << 20,
        log_lines: 1000,
        emits: 1000,
        ..Limits::default()
    }
}

/// Runs `body` and expects one of `codes`; then a neighbour, which must not notice.
async fn check(body: &str, codes: &[&str]) {
    let image = load(&source(body)).await.expect("the attack loads");
    // Time is real in worker processes, and what computes until its fuel is used up takes some of it.
    let seconds = if codes.contains(&"deadline") { 10 } else { 60 };
    let attacked = Limits { wall_clock: Duration::from_secs(seconds), ..limits() };
    let outcome = run_image(&image, attacked, Arc::new(Stage::default())).await;
    let code = outcome.fault.as_ref().map_or("none", Fault::code);
    assert!(codes.contains(&code), "expected {codes:?}, got {code}: {:?}", outcome.fault);
    assert!(outcome.usage.peak_memory_bytes <= limits().memory_bytes);

    let neighbour =
        load(&source("this.$emit({sum: [1, 2, 3].map((n) => n * 2)}, {id: 'x'}); console.log(JSON.stringify(event))"))
            .await
            .unwrap();
    let outcome = run_image(&neighbour, limits(), Arc::new(Stage::default())).await;
    assert_eq!(outcome.fault, None);
    assert_eq!(outcome.emits[0].event.get(), r#"{"sum":[2,4,6]}"#);
    assert_eq!(outcome.logs[0].message, "{}");
}

macro_rules! attacks {
    ($($name:ident: $body:expr => $($code:literal)|+;)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                check($body, &[$($code),+]).await;
            }
        )*
    };
}

// Loops in every form.
attacks! {
    loop_synchronous: "for (;;);" => "out_of_fuel";
    loop_in_a_getter: "const trap = {get x() { for (;;); }}; trap.x" => "out_of_fuel";
    loop_in_to_string: "`${{toString() { for (;;); }}}`" => "out_of_fuel";
    loop_in_to_json: "this.$emit({toJSON() { for (;;); }})" => "out_of_fuel";
    loop_in_value_of_a_summary: "this.$emit({}, {summary: {toString() { for (;;); }}})" => "out_of_fuel";
    loop_in_a_proxy: "const p = new Proxy({}, {ownKeys() { for (;;); }}); Object.keys(p)" => "out_of_fuel";
    loop_in_a_logged_proxy: "console.log(new Proxy({}, {getPrototypeOf() { for (;;); }}))" => "out_of_fuel";
    loop_in_a_generator: "for (const x of (function* () { for (;;) yield 1; })()) ;" => "out_of_fuel";
    loop_in_microtasks: "await new Promise(() => { (function again() { Promise.resolve().then(again); })(); })" => "out_of_fuel";
    loop_in_queue_microtask: "await new Promise(() => { (function again() { queueMicrotask(again); })(); })" => "out_of_fuel";
    loop_in_timers: "await new Promise(() => { (function again() { setTimeout(again, 0); })(); })" => "deadline" | "out_of_fuel";
    loop_in_immediates: "await new Promise(() => { (function again() { setImmediate(again); })(); })" => "out_of_fuel";
    loop_in_an_interval: "await new Promise(() => setInterval(() => {}, 1))" => "deadline" | "out_of_fuel";
    loop_in_async_iteration: "for await (const x of {[Symbol.asyncIterator]: () => ({next: async () => ({value: 1, done: false})})}) ;" => "out_of_fuel";
    loop_in_a_regular_expression: "/^(a+)+$/.test('a'.repeat(40) + 'b')" => "out_of_fuel" | "out_of_memory" | "threw";
    loop_in_a_thenable: "await {then(done) { for (;;); }}" => "out_of_fuel";
    loop_of_thenables: "const t = {then(done) { done(t); }}; await t" => "out_of_fuel";
    loop_in_sort: "[3, 1, 2].sort(() => { for (;;); })" => "out_of_fuel";
    loop_in_replace: "'abc'.replace(/./g, () => { for (;;); })" => "out_of_fuel";
    loop_in_eval: "eval('for (;;);')" => "out_of_fuel";
    loop_in_a_function_constructor: "new Function('for (;;);')()" => "out_of_fuel";
    loop_after_catching_everything: "for (;;) { try { for (;;); } catch {} finally { continue; } }" => "out_of_fuel";
    loop_in_bigint_arithmetic: "let x = 3n; for (;;) x = x * x;" => "out_of_fuel" | "out_of_memory" | "threw";
}

// Waiting for ever.
attacks! {
    wait_on_a_promise_that_is_never_settled: "await new Promise(() => {})" => "threw";
    wait_on_a_far_timer: "await new Promise((done) => setTimeout(done, 2 ** 31 - 1))" => "deadline";
    wait_after_the_deadline_is_caught: "try { await new Promise((done) => setTimeout(done, 1e9)); } catch {}" => "deadline";
}

// Depth.
attacks! {
    recursion: "(function down() { return down() + 1; })()" => "threw";
    recursion_of_methods: "const o = {get x() { return this.x; }}; o.x" => "threw";
    recursion_of_proxies: "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x" => "threw" | "trap" | "none";
    recursion_of_to_string: "const a = []; a[0] = a; const b = {toString() { return `${b}`; }}; `${b}`" => "threw";
    recursion_that_catches_itself: "(function down() { try { down(); } catch { down(); } })()" => "out_of_fuel" | "threw";
    json_of_deep_nesting: "JSON.parse('['.repeat(1e6))" => "threw";
    json_bomb_of_references: "let x = {}; for (let i = 0; i < 64; i++) x = {a: x, b: x}; JSON.stringify(x)" => "out_of_memory" | "out_of_fuel" | "threw";
    deep_source: "eval('('.repeat(1e5) + ')'.repeat(1e5))" => "threw";
    deep_regular_expression: "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))" => "threw";
    deep_array_flattening: "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity).length" => "threw" | "none";
    deep_bound_functions: "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f()" => "threw" | "none" | "out_of_memory";
    deep_promise_chain: "let p = Promise.resolve(); for (let i = 0; i < 1e5; i++) p = p.then(() => p); await Promise.race([p, 1])" => "none" | "threw" | "out_of_memory";
}

// Memory.
attacks! {
    memory_of_strings: "let s = 'x'; for (;;) s += s + Math.random();" => "out_of_memory" | "threw";
    memory_of_string_pieces: "const all = []; for (let i = 0; ; i++) all.push(('x' + i).repeat(1000));" => "out_of_memory" | "out_of_fuel";
    memory_of_arrays: "const all = []; for (;;) all.push(new Array(1000).fill(all.length));" => "out_of_memory";
    memory_of_one_array: "new Array(2 ** 32 - 1).fill(0)" => "out_of_memory" | "threw" | "out_of_fuel";
    memory_of_buffers: "const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1));" => "out_of_memory";
    memory_of_one_buffer: "new ArrayBuffer(2 ** 31)" => "threw" | "out_of_memory";
    memory_of_closures: "const all = []; for (let i = 0; ; i++) { const big = [i, i, i, i]; all.push(() => big); }" => "out_of_memory" | "out_of_fuel";
    memory_of_a_map: "const m = new Map(); for (let i = 0; ; i++) m.set({i}, {i});" => "out_of_memory" | "out_of_fuel";
    memory_of_objects: "const all = []; for (let i = 0; ; i++) all.push({['k' + i]: i});" => "out_of_memory" | "out_of_fuel";
    memory_of_timers: "for (;;) setTimeout(() => {}, 1e6);" => "out_of_memory" | "out_of_fuel";
    memory_of_promises: "const all = []; for (;;) all.push(new Promise(() => {}));" => "out_of_memory" | "out_of_fuel";
    memory_of_typed_array_length: "Uint8Array.from({length: 2 ** 30})" => "out_of_memory" | "out_of_fuel" | "threw";
    memory_of_padding: "'x'.padEnd(2 ** 29)" => "out_of_memory" | "threw";
    memory_of_replacement: "'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e6))" => "out_of_memory" | "threw";
    memory_caught: "const all = []; for (;;) { try { all.push(new Uint8Array(1 << 20)); } catch {} }" => "out_of_memory";
}

// Floods.
attacks! {
    flood_of_logs: "for (;;) console.log('x');" => "too_much_output";
    flood_of_long_logs: "const line = 'x'.repeat(1 << 16); for (;;) console.log(line);" => "too_much_output";
    flood_of_emits: "for (;;) this.$emit({}, {id: 1});" => "too_much_output";
    flood_of_one_emit: "this.$emit('x'.repeat(1 << 20))" => "too_much_output";
    flood_of_writes: "for (let i = 0; ; i++) this.db.set('k' + i, 'x'.repeat(60000));" => "too_much_output" | "out_of_fuel";
    flood_of_one_write: "this.db.set('k', 'x'.repeat(1 << 20))" => "too_much_output";
    flood_of_one_key: "this.db.set('k'.repeat(1 << 20), 1)" => "too_much_output";
    flood_of_rejections: "for (let i = 0; i < 5000; i++) Promise.reject(new Error('x'));" => "too_much_output" | "none";
    flood_caught: "for (;;) { try { this.$emit('x'); } catch {} }" => "too_much_output";
}

// The prelude's own globals, poisoned.
attacks! {
    poison_json: "JSON.stringify = JSON.parse = () => { throw new Error('poison'); }; this.$emit({a: 1}, {id: 1}); this.db.set('k', 1)" => "none";
    poison_promise: "Promise.prototype.then = Promise.prototype.catch = Promise.resolve = null; globalThis.Promise = null" => "none";
    poison_symbols: "Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1; }; this.$emit({a: 1})" => "none" | "out_of_fuel" | "threw";
    poison_object_prototype: "Object.prototype.toJSON = () => { throw new Error('poison'); }; this.$emit({a: 1})" => "threw";
    poison_object_setters: "Object.defineProperty(Object.prototype, 'kind', {set() { throw 1; }, get() { return 'x'; }}); this.$emit({})" => "none" | "threw";
    poison_error: "globalThis.Error = globalThis.TypeError = null; Error.prototype" => "threw";
    poison_error_properties: "throw Object.create(Error.prototype, {stack: {get() { throw 1; }}, message: {get() { for (;;); }}})" => "threw" | "out_of_fuel";
    poison_thrown_proxy: "throw new Proxy({}, {get() { throw new Error('again'); }, getPrototypeOf() { throw 2; }})" => "threw";
    poison_string_prototype: "String.prototype.toWellFormed = String.prototype.split = String.prototype.slice = null; console.log('fine'); throw new Error('x')" => "threw";
    poison_reflect: "Reflect.apply = Function.prototype.call = Function.prototype.apply = Function.prototype.bind = null; this.$emit({})" => "none" | "threw";
    poison_map: "Map.prototype.get = Map.prototype.set = Map.prototype.has = null; setTimeout(() => {}, 1); await 0" => "none" | "threw";
    poison_everything: "for (const k of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[k]; } catch {} }" => "none" | "threw";
    frozen_globals: "Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(globalThis); this.$emit({})" => "none" | "threw";
}

// Ways out.
attacks! {
    escape_by_constructor: "const f = this.$emit.constructor('return globalThis')(); try { f.process.binding('fs'); throw new Error('out'); } catch (e) { if (e.message === 'out') throw e; } if (typeof f.host !== 'undefined' || typeof f.internal !== 'undefined') throw new Error('out')" => "none";
    escape_by_stack: "const e = new Error(); Error.prepareStackTrace = (_, sites) => sites; const sites = e.stack; if (Array.isArray(sites) && sites.some((s) => s.getThis && s.getThis() && s.getThis().entryPoints)) throw new Error('out')" => "none";
    escape_by_arguments: "const caller = (() => { try { return (function f() { return f.caller; })(); } catch { return null; } })(); if (caller && caller.toString().includes('internal')) throw new Error('out')" => "none";
    escape_by_require: "try { require('/etc/passwd'); } catch (e) { if (e.code !== 'MODULE_NOT_FOUND') throw e; } try { require('../../../../etc/passwd'); } catch (e) { if (e.code !== 'MODULE_NOT_FOUND') throw e; }" => "none";
    escape_by_import: "try { await import('/etc/passwd'); throw new Error('out'); } catch (e) { if (e.message === 'out') throw e; }" => "none";
    escape_by_wasm: "if (typeof WebAssembly !== 'undefined') throw new Error('out')" => "none";
    escape_by_bytecode: "const names = Object.getOwnPropertyNames(globalThis); for (const name of ['std', 'os', 'bjson', 'Javy', '__emit']) if (names.includes(name)) throw new Error('out')" => "none";
    escape_by_shared_memory: "if (typeof SharedArrayBuffer !== 'undefined') { const s = new SharedArrayBuffer(8); new Uint8Array(s)[0] = 1; Atomics.load(new Int32Array(s), 0); }" => "none" | "threw";
    escape_by_atomics_wait: "if (typeof Atomics !== 'undefined' && typeof SharedArrayBuffer !== 'undefined') Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)" => "none" | "threw" | "deadline";
}

// Arguments no host function expects.
attacks! {
    abuse_emit_types: "for (const x of [undefined, null, 1, 'x', true, Symbol.iterator, () => {}, [], NaN, -0, Infinity]) { try { this.$emit(x, x); } catch {} }" => "none";
    abuse_emit_metadata: "for (const id of [{}, [], -1, 1e308, 2 ** 53, 'a\\0b', '\\ud800', 10n, null]) this.$emit({}, {id, name: id, summary: id, ts: id, delivery_ts: id})" => "none";
    abuse_strings: "this.$emit({['\\ud800']: '\\udfff\\0'}, {id: '\\ud800'}); console.log('\\ud800\\0'); this.db.set('\\ud800', '\\udfff'); this.db.get('a\\0b')" => "none";
    abuse_db_types: "for (const x of [undefined, null, 1, {}, [], () => {}, Symbol.iterator]) { try { this.db.set(x, x); this.db.get(x); } catch {} }" => "none";
    abuse_bigint: "this.$emit({n: 10n})" => "threw";
    abuse_timers: "for (const x of [undefined, null, -1, NaN, Infinity, 'x', {}, 2 ** 40]) { try { clearTimeout(x); clearTimeout(setTimeout(() => {}, x)); setTimeout(x, 1); } catch {} }" => "none";
    abuse_typed_arrays: "const a = new Uint8Array(16); for (const [s, n] of [[-1, 4], [0, 2 ** 32], [16, 1], [1e9, 1]]) { try { new Uint8Array(a.buffer, s, n); } catch {} try { new DataView(a.buffer, s, n); } catch {} }" => "none";
    abuse_detached_buffers: "const a = new ArrayBuffer(64); const v = new Uint8Array(a); if (a.transfer) a.transfer(); v[0] = 1; this.$emit([...v])" => "threw" | "none";
}

#[tokio::test(start_paused = true)]
async fn garbage_in_cycles_is_collected_before_memory_runs_out() {
    let image = load(&source(
        "for (let i = 0; i < 2e5; i++) { const a = {}, b = {a}; a.b = b; a.big = [i, 2, 3, 4, 5, 6, 7, 8]; }",
    ))
    .await
    .unwrap();

    let outcome = run_image(&image, Limits { fuel: u64::MAX / 2, ..limits() }, Arc::new(Stage::default())).await;

    assert_eq!(outcome.fault, None, "{:?}", outcome.usage);
}
