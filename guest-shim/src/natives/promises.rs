//! Telling the prelude what happens to promises, for `async_hooks` to follow a context through `await`.
//!
//! No hook is installed until the prelude asks for one: it costs time for every promise of a run.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use rquickjs::prelude::Func;
use rquickjs::{Ctx, Function, Object, Persistent, Result, Value, qjs};

thread_local! {
    static WATCHER: RefCell<Option<Persistent<Function<'static>>>> = const { RefCell::new(None) };
}

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("watchPromises", Func::from(watch))?;
    host.set("isPromise", Func::from(|value: Value<'_>| value.is_promise()))
}

/// From now on `watcher(what, promise)` is called with QuickJS's number of what happens: 0 made, 1 and 2 before and
/// after the `then` of an object that a promise was resolved with, 3 fulfilled, before its reactions are queued.
fn watch<'js>(ctx: Ctx<'js>, watcher: Function<'js>) {
    WATCHER.set(Some(Persistent::save(&ctx, watcher)));
    // SAFETY: the runtime lives as long as the instance, and the hook borrows nothing.
    unsafe { qjs::JS_SetPromiseHook(qjs::JS_GetRuntime(ctx.as_raw().as_ptr()), Some(note), null_mut()) };
}

unsafe extern "C" fn note(
    ctx: *mut qjs::JSContext,
    what: qjs::JSPromiseHookType,
    promise: qjs::JSValue,
    _parent: qjs::JSValue,
    _: *mut c_void,
) {
    // SAFETY: QuickJS lends live values for the time of the call; the promise is duplicated before it is owned here.
    let (ctx, promise) = unsafe {
        let ctx = Ctx::from_raw(NonNull::new_unchecked(ctx));
        let promise = Value::from_raw(ctx.clone(), qjs::JS_DupValue(ctx.as_raw().as_ptr(), promise));
        (ctx, promise)
    };
    let watcher = WATCHER.with_borrow(Clone::clone);
    if let Some(watcher) = watcher.and_then(|watcher| watcher.restore(&ctx).ok()) {
        // The watcher throws only when the stack is exhausted, and then the component's own next call does, too.
        drop(watcher.call::<_, ()>((what, promise)));
    }
}
