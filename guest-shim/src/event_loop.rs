//! Runs a call of the prelude until its promise settles.
//!
//! The order is Node's: what `process.nextTick` was given, all promise jobs, both again until neither is left; then one
//! macrotask (a completion or a due timer), and so on.
//! When nothing is left to do the run is suspended in `timers.park`; when nothing can ever happen, it ends.

use std::cell::{Cell, RefCell};

use rquickjs::{Ctx, IntoJs, Value};

use crate::engine;
use crate::json;
use crate::prelude::EntryPoint;
use crate::wellspring::wall::{fetch, timers};

thread_local! {
    /// Set by the prelude when the call's promise settles.
    static SETTLED: RefCell<Option<Result<String, String>>> = const { RefCell::new(None) };
    /// `process.nextTick` was given something.
    static HAS_TICKS: Cell<bool> = const { Cell::new(false) };
    /// The call did something that `finish` has to look after: started a timer, a request, a group of log lines.
    static HAS_LEFTOVERS: Cell<bool> = const { Cell::new(false) };
    /// A promise was rejected while it had no handler.
    static HAS_REJECTIONS: Cell<bool> = const { Cell::new(false) };
}

/// What the prelude still waits for, as `nextWait` of `core/timers.js` tells it.
enum Wait {
    Nothing,
    Completion,
    Timer(f64),
}

/// What an entry point is given.
pub(crate) enum Input {
    Text(String),
    /// The value of this.
    Json(String),
}

impl<'js> IntoJs<'js> for Input {
    fn into_js(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match self {
            Self::Text(text) => text.into_js(ctx),
            Self::Json(text) => {
                let value = json::parse(ctx, &text)?;
                // Never freed: the instance ends with the call, so freeing it would be wasted work.
                std::mem::forget(value.clone());
                Ok(value)
            }
        }
    }
}

/// Calls an entry point and runs the event loop to the end of it.
pub(crate) fn call(entry_point: EntryPoint, input: Input) -> Result<String, String> {
    SETTLED.take();
    engine::with_entry_point(entry_point, |_, function| {
        // Entry points catch everything and settle with it; what escapes is exhaustion of the stack in the prelude itself.
        if function.call::<_, ()>((input,)).is_err() {
            settle(Err(r#"{"name":"RangeError","message":"Maximum call stack size exceeded"}"#.into()));
        }
    });
    loop {
        while run_ticks() | engine::run_jobs() {}
        check_rejections();
        if let Some(result) = SETTLED.take() {
            finish();
            return result;
        }
        if let Some(completion) = fetch::next() {
            deliver(completion);
            continue;
        }
        match next_wait() {
            Wait::Timer(milliseconds) if milliseconds <= 0.0 => fire_timer(),
            Wait::Timer(milliseconds) => timers::park(Some(milliseconds)),
            Wait::Completion => timers::park(None),
            Wait::Nothing => stall(),
        }
    }
}

/// Ends the current call and says whether this is its end: the first error counts, and what was fulfilled before does not
/// hide it.
pub(crate) fn settle(result: Result<String, String>) -> bool {
    SETTLED.with_borrow_mut(|settled| {
        let counts = match settled {
            None => true,
            Some(Ok(_)) => result.is_err(),
            Some(Err(_)) => false,
        };
        if counts {
            *settled = Some(result);
        }
        counts
    })
}

/// `process.nextTick` was called.
pub(crate) fn queue_ticks() {
    HAS_TICKS.set(true);
}

/// A promise was rejected while it had no handler.
pub(crate) fn note_rejection() {
    HAS_REJECTIONS.set(true);
}

/// The call may leave something behind.
pub(crate) fn leave_something() {
    HAS_LEFTOVERS.set(true);
}

/// Ends a call that nothing can settle any more.
fn stall() {
    engine::with_entry_point(EntryPoint::Stall, |_, function| drop(function.call::<_, ()>(())));
    // The prelude reports it, unless a component broke the prelude's own way of reporting.
    settle(Err(r#"{"name":"Error","message":"the run ended without a result"}"#.into()));
}

/// Calls what `process.nextTick` was given; `false` when there was nothing.
fn run_ticks() -> bool {
    HAS_TICKS.take()
        && engine::with_entry_point(EntryPoint::RunTicks, |_, function| function.call::<_, bool>(())).unwrap_or(false)
}

/// Lets the prelude look at promises that were rejected, once all jobs that could handle them have run.
fn check_rejections() {
    if HAS_REJECTIONS.take() {
        engine::with_entry_point(EntryPoint::CheckRejections, |_, function| drop(function.call::<_, ()>(())));
    }
}

fn next_wait() -> Wait {
    let milliseconds = engine::with_entry_point(EntryPoint::NextWait, |_, function| function.call::<_, f64>(()));
    match milliseconds {
        Ok(milliseconds) if milliseconds.is_nan() => Wait::Nothing,
        Ok(milliseconds) if milliseconds.is_infinite() => Wait::Completion,
        Ok(milliseconds) => Wait::Timer(milliseconds),
        Err(_) => Wait::Nothing,
    }
}

fn fire_timer() {
    engine::with_entry_point(EntryPoint::FireTimer, |_, function| drop(function.call::<_, ()>(())));
}

/// Notes in the log what the call left behind.
fn finish() {
    if HAS_LEFTOVERS.take() {
        engine::with_entry_point(EntryPoint::Finish, |_, function| drop(function.call::<_, ()>(())));
    }
}

fn deliver(completion: fetch::Completion) {
    use fetch::Completion::{Chunk, End, Failed, Head, Written};
    engine::with_entry_point(EntryPoint::Complete, |ctx, function| {
        let done = match completion {
            Head((request, head)) => function.call::<_, ()>((request, "head", head)),
            Chunk((request, bytes)) => rquickjs::TypedArray::new(ctx.clone(), bytes)
                .and_then(|bytes| function.call::<_, ()>((request, "chunk", bytes))),
            End(request) => function.call::<_, ()>((request, "end")),
            Written(request) => function.call::<_, ()>((request, "written")),
            Failed((request, error)) => function.call::<_, ()>((request, "failed", error)),
        };
        drop(done);
    });
}
