//! The one QuickJS runtime of this instance: its limits, its collector, and a handle to what the prelude exports.

use std::cell::OnceCell;

use javy::{Config, Runtime};
use rquickjs::{Ctx, Function, Persistent, qjs};

use crate::prelude::{self, EntryPoint};
use crate::{event_loop, json, natives};

/// How far a run may grow beyond its image before QuickJS collects. Collecting writes to every object and so unshares
/// every page of the image; most runs end before. It is a quarter of what a run has by default, because collecting is also
/// the one thing that can break a run: QuickJS loses count of what a suspended or running async function holds
/// (quickjs-ng's issue 1570, CVE-2023-48184), and frees it under a program that iterates over streams.
const GROWTH_BEFORE_COLLECTING_BYTES: usize = 32 << 20;

/// The lowest address the C stack may reach. The stack starts at 1 MiB and grows down to zero; what is left below this
/// line is for native frames that do not ask QuickJS first.
const STACK_FLOOR_BYTES: usize = 192 << 10;

struct Engine {
    runtime: Runtime,
    /// By the number of their `EntryPoint`.
    entry_points: [Persistent<Function<'static>>; EntryPoint::COUNT],
}

/// WebAssembly gives this instance one thread.
struct SingleThread<T>(T);
// SAFETY: there is no other thread that could share it.
unsafe impl<T> Sync for SingleThread<T> {}

static ENGINE: SingleThread<OnceCell<Engine>> = SingleThread(OnceCell::new());

/// Makes the runtime and evaluates these files of the prelude.
pub(crate) fn start(files: &[&str]) {
    let mut config = Config::default();
    config.text_encoding(false).weak_ref(true).gc_threshold(usize::MAX);
    let runtime = Runtime::new(config).expect("QuickJS starts with the memory it is given");
    let entry_points = runtime.context().with(|ctx| {
        limit_stack(&ctx);
        json::make_familiar(&ctx).expect("memory for a few names");
        natives::forget_javy_globals(&ctx).expect("globals are writable before the prelude");
        json::replace_globals(&ctx).expect("globals are writable before the prelude");
        prelude::evaluate(&ctx, files)
    });
    watch_rejections(&runtime);
    let engine = Engine { runtime, entry_points };
    assert!(ENGINE.0.set(engine).is_ok(), "init is called once");
}

/// Runs `work` with the context.
pub(crate) fn with_context<T>(work: impl for<'js> FnOnce(&Ctx<'js>) -> T) -> T {
    engine().runtime.context().with(|ctx| work(&ctx))
}

/// Runs `work` with the context and an entry point of the prelude.
pub(crate) fn with_entry_point<T>(name: EntryPoint, work: impl for<'js> FnOnce(&Ctx<'js>, Function<'js>) -> T) -> T {
    let engine = engine();
    engine.runtime.context().with(|ctx| work(&ctx, engine.entry_point(&ctx, name)))
}

/// Runs promise jobs until none is left; `false` when there was none.
pub(crate) fn run_jobs() -> bool {
    let engine = engine();
    if !engine.runtime.has_pending_jobs() {
        return false;
    }
    // A job's own exception belongs to its promise; nothing is left to report here.
    let _ = engine.runtime.resolve_pending_jobs();
    true
}

unsafe extern "C" {
    /// Of patches/quickjs-references.patch.
    fn JS_KeepForever(runtime: *mut qjs::JSRuntime);
}

/// Collects garbage before an image is taken, and lets QuickJS collect by itself once a run has grown well beyond it. What is left is
/// in every run: references to it are not counted any more, which would write to the pages of the image.
pub(crate) fn collect() {
    // SAFETY: the runtime is alive; the usage is plain numbers, for which zeros are valid and which QuickJS fills in.
    engine().runtime.context().with(|ctx| unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_RunGC(runtime);
        let mut usage = std::mem::zeroed::<qjs::JSMemoryUsage>();
        qjs::JS_ComputeMemoryUsage(runtime, &mut usage);
        qjs::JS_SetGCThreshold(runtime, (usage.malloc_size as usize + GROWTH_BEFORE_COLLECTING_BYTES) as _);
        JS_KeepForever(runtime);
    });
}

// === impl Engine ===

impl Engine {
    fn entry_point<'js>(&self, ctx: &Ctx<'js>, name: EntryPoint) -> Function<'js> {
        self.entry_points[name as usize].clone().restore(ctx).expect("made by this runtime")
    }
}

fn engine() -> &'static Engine {
    ENGINE.0.get().expect("the host calls init first")
}

/// Tells the prelude of promises that are rejected while they have no handler, and of those that get one after all.
fn watch_rejections(runtime: &Runtime) {
    unsafe extern "C" fn note(
        ctx: *mut qjs::JSContext,
        promise: qjs::JSValue,
        reason: qjs::JSValue,
        is_handled: bool,
        _: *mut std::ffi::c_void,
    ) {
        // SAFETY: QuickJS lends live values for the time of the call; each is duplicated before it is owned here.
        let (ctx, promise, reason) = unsafe {
            let ctx = Ctx::from_raw(std::ptr::NonNull::new_unchecked(ctx));
            let own = |value| rquickjs::Value::from_raw(ctx.clone(), qjs::JS_DupValue(ctx.as_raw().as_ptr(), value));
            (ctx.clone(), own(promise), own(reason))
        };
        let Some(engine) = ENGINE.0.get() else { return };
        event_loop::note_rejection();
        drop(engine.entry_point(&ctx, EntryPoint::NoteRejection).call::<_, ()>((promise, reason, is_handled)));
    }
    // SAFETY: the runtime is alive; the callback borrows nothing and lives as long as the program.
    runtime.context().with(|ctx| unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_SetHostPromiseRejectionTracker(runtime, Some(note), std::ptr::null_mut());
    });
}

/// QuickJS has its stack check compiled in for WASI but never gives it a limit (`update_stack_limit` writes "no limit"
/// there). Its three fields stand next to each other: `stack_size`, `stack_top`, `stack_limit`. We find
/// them by a size that only this file sets, and write the limit ourselves; then endless recursion is
/// a RangeError the component can catch and not a trap.
fn limit_stack(ctx: &Ctx<'_>) {
    const UNLIKELY_SIZE: usize = 0x5a17_c0de;
    const RUNTIME_WORDS: usize = 512;
    // SAFETY: the runtime is alive and larger than the words looked at; the word written is the limit, by the check before.
    unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_SetMaxStackSize(runtime, UNLIKELY_SIZE as _);
        let words = runtime.cast::<usize>();
        let at = (0..RUNTIME_WORDS)
            .find(|&at| words.add(at).read() == UNLIKELY_SIZE && words.add(at + 2).read() == 0)
            .expect("the runtime has a stack_size field followed by stack_top and stack_limit");
        words.add(at + 2).write(STACK_FLOOR_BYTES);
    }
}
