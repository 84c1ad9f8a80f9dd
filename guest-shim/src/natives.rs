//! The native functions the prelude calls: the host functions, and what is better done in Rust.
//!
//! Arguments are of the right type already, because the prelude coerces what a component gives it; one that
//! is not raises a TypeError.

mod agree;
mod cipher;
mod compress;
mod digest;
mod failure;
mod keys;
mod machine;
mod promises;
mod random;
mod sign;
mod text;
mod url;
mod zone;

use std::cell::Cell;

use rquickjs::prelude::{Func, Opt};
use rquickjs::{Ctx, Object, Result, TypedArray, Value, qjs};

use crate::event_loop;
use crate::json;
use crate::prelude;
use crate::script;
use crate::wellspring::wall::{auth, clock, db, effects, emit, fetch, log, modules, respond};

/// All natives as one object.
pub(crate) fn object<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    add_run(&host)?;
    add_fetch(&host)?;
    add_platform(&host)?;
    text::add(&host)?;
    url::add(&host)?;
    zone::add(&host)?;
    digest::add(&host)?;
    machine::add(&host)?;
    cipher::add(&host)?;
    keys::add(&host)?;
    sign::add(&host)?;
    agree::add(&host)?;
    compress::add(&host)?;
    promises::add(&host)?;
    Ok(host)
}

/// Javy brings a console and a reader of standard input of its own; ours come with the prelude.
pub(crate) fn forget_javy_globals(ctx: &Ctx<'_>) -> Result<()> {
    for name in ["console", "Javy"] {
        ctx.globals().remove(name)?;
    }
    Ok(())
}

/// What a run does to the world.
fn add_run(host: &Object<'_>) -> Result<()> {
    json::define(host.ctx(), host, c"emitPlain", emit_plain, 2)?;
    host.set("emit", Func::from(|event: String, metadata: String| emit::emit(&event, &metadata)))?;
    host.set("dbGet", Func::from(|key: String| db::get(&key)))?;
    host.set("dbSet", Func::from(|key: String, value: Opt<String>| db::set(&key, value.0.as_deref())))?;
    host.set("credentials", Func::from(|prop: String| auth::credentials(&prop)))?;
    host.set(
        "respond",
        Func::from(|head: String, body: TypedArray<'_, u8>| {
            respond::respond(&head, body.as_bytes().unwrap_or_default())
        }),
    )?;
    host.set(
        "perform",
        Func::from(|effect: u8, parameters: String| {
            // SAFETY: core/effects.js, the only caller, gives the number of one of the names it has in the enum's own order.
            effects::perform(unsafe { effects::Effect::_lift(effect) }, &parameters);
        }),
    )?;
    // SAFETY: core/console.js, the only caller, gives the number of a level.
    host.set("log", Func::from(|level: u8, message: String| log::log(unsafe { log::Level::_lift(level) }, &message)))?;
    host.set("queueTicks", Func::from(event_loop::queue_ticks))?;
    host.set("leaveSomething", Func::from(event_loop::leave_something))?;
    host.set(
        "settle",
        Func::from(|is_ok: bool, json: String| event_loop::settle(if is_ok { Ok(json) } else { Err(json) })),
    )
}

/// Emits plain data straight from its values; says `false` about anything else, and then has done nothing.
unsafe extern "C" fn emit_plain(
    context: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _count: i32,
    arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS fills the arguments up to the function's length, and keeps them alive for the time of the call.
    let (event, metadata) = unsafe { (*arguments, *arguments.add(1)) };
    match json::text_of(context, event).zip(json::metadata(context, metadata)) {
        Some((event, metadata)) => {
            emit::emit(event.as_deref().unwrap_or("null"), &metadata);
            qjs::JS_TRUE
        }
        None => qjs::JS_FALSE,
    }
}

fn add_fetch(host: &Object<'_>) -> Result<()> {
    host.set(
        "fetchStart",
        Func::from(|head: String, body: TypedArray<'_, u8>, streaming: bool| {
            fetch::start(&head, body.as_bytes().unwrap_or_default(), streaming)
        }),
    )?;
    host.set(
        "fetchWrite",
        Func::from(|request: u32, chunk: TypedArray<'_, u8>| {
            fetch::write(request, chunk.as_bytes().unwrap_or_default());
        }),
    )?;
    host.set("fetchFinish", Func::from(|request: u32| fetch::finish(request)))?;
    host.set("fetchRead", Func::from(|request: u32| fetch::read(request)))?;
    host.set("fetchCancel", Func::from(|request: u32| fetch::cancel(request)))
}

/// Time, randomness and code.
fn add_platform(host: &Object<'_>) -> Result<()> {
    host.set("now", Func::from(clock::now))?;
    host.set("elapsed", Func::from(clock::elapsed))?;
    host.set("random", Func::from(random_bytes))?;
    host.set("takeDrew", Func::from(random::take_drew))?;
    host.set("source", Func::from(|path: String| modules::source(&path)))?;
    host.set("compileModule", Func::from(compile_module))?;
    host.set("compileLazy", Func::from(prelude::compile_lazy))?;
    let math: Object = host.ctx().globals().get("Math")?;
    math.set("random", Func::from(random_number))
}

/// `Math.random` starts anew in every run; a generator seeded while loading would give all runs the same numbers.
pub(crate) fn forget_random_state() {
    RANDOM_STATE.set(0);
}

thread_local! {
    static RANDOM_STATE: Cell<u64> = const { Cell::new(0) };
}

/// SplitMix64, seeded by the host: fast, and good enough for what is not cryptography.
fn random_number() -> f64 {
    let mut state = RANDOM_STATE.get();
    if state == 0 {
        let seed = random::bytes(8);
        state = seed.iter().fold(1, |state, &byte| (state << 8) ^ u64::from(byte));
    }
    random::note_draw();
    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    RANDOM_STATE.set(state);
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn random_bytes<'js>(ctx: Ctx<'js>, count: u32) -> Result<TypedArray<'js, u8>> {
    TypedArray::new(ctx, random::bytes(count as usize))
}

/// The function of a module, as another instance compiled it or straight from its source: text that never becomes a JavaScript string leaves no hole in
/// the image.
fn compile_module<'js>(ctx: Ctx<'js>, path: String) -> Result<Option<Value<'js>>> {
    if let Some(bytecode) = modules::code(&path) {
        return script::evaluate_bytecode(&ctx, &bytecode).map(Some);
    }
    modules::source(&path).map(|source| script::compile_module(&ctx, source, &path)).transpose()
}
