//! JSON between texts and values, for what every run does: read its call, write its events.
//!
//! QuickJS's own reader and writer make several strings for each value, and take most of the time of a short run. These
//! take the usual case only: plain data, well-formed text. Whatever is out of the usual (an accessor, `toJSON`, a proxy,
//! a wrapped primitive, a lone surrogate, a cycle, a mistake) they leave to QuickJS, which begins anew; until
//! then nothing of a component's has been called.

mod read;
mod write;

use std::cell::RefCell;
use std::ffi::CStr;

use rquickjs::{Ctx, Error, Function, Object, Persistent, Result, Value, qjs};

pub(crate) use write::{metadata, text_of};

/// Deeper data is left to QuickJS, which knows how much stack there is.
const MAX_DEPTH: usize = 64;

thread_local! {
    /// QuickJS's own `JSON.parse`, for calls with a reviver.
    static OWN_PARSE: RefCell<Option<Persistent<Function<'static>>>> = const { RefCell::new(None) };
}

/// Puts the two in the place of QuickJS's own.
pub(crate) fn replace_globals(ctx: &Ctx<'_>) -> Result<()> {
    let json: Object = ctx.globals().get("JSON")?;
    let own: Function = json.get("parse")?;
    OWN_PARSE.set(Some(Persistent::save(ctx, own)));
    define(ctx, &json, c"parse", parse_global, 2)?;
    define(ctx, &json, c"stringify", stringify_global, 3)
}

/// Makes the names that most calls and events have, and objects of the shapes that most calls have.
///
/// QuickJS counts in each name, and in each shape, how many have it, and so writes to it whenever a call is read. Made one
/// after the other before everything else, they lie next to each other, and a run unshares few pages of its image.
pub(crate) fn make_familiar(ctx: &Ctx<'_>) -> Result<()> {
    const CALL: &str = r#"{"kind":"run","event":{"method":"","path":"","query":{},"headers":{"host":"","user-agent":"",
        "content-length":"","accept":"","accept-encoding":"","content-type":"","x-forwarded-for":"","x-forwarded-host":"",
        "x-forwarded-proto":"","x-request-id":""},"bodyRaw":"","body":{},"url":"","client_ip":"","interface":""},
        "props":{"http":{"endpoint_url":""}},"env":{"PD_COMPONENT":""}}"#;
    const NAMES: &str = r#"{"id":1,"name":1,"summary":1,"ts":1,"delivery_ts":1,"toJSON":1,"type":1,"title":1,"data":1,
        "timestamp":1,"created_at":1,"updated_at":1,"status":1,"url":1,"user":1,"email":1,"object":1,"action":1}"#;
    for text in [CALL, NAMES] {
        // The value is not used: parsing it creates the atoms and shapes that later calls share.
        std::mem::forget(parse(ctx, text)?);
    }
    Ok(())
}

/// A native function of `object`, as inconspicuous as the one it replaces.
pub(crate) fn define(
    ctx: &Ctx<'_>,
    object: &Object<'_>,
    name: &CStr,
    function: unsafe extern "C" fn(*mut qjs::JSContext, qjs::JSValue, i32, *mut qjs::JSValue) -> qjs::JSValue,
    length: i32,
) -> Result<()> {
    let flags = (qjs::JS_PROP_WRITABLE | qjs::JS_PROP_CONFIGURABLE) as i32;
    // SAFETY: the context and the object live; the name is copied; the function's value is taken over.
    let defined = unsafe {
        let context = ctx.as_raw().as_ptr();
        let kind = qjs::JSCFunctionEnum_JS_CFUNC_generic;
        let value = qjs::JS_NewCFunction2(context, Some(function), name.as_ptr(), length, kind, 0);
        qjs::JS_DefinePropertyValueStr(context, object.as_raw(), name.as_ptr(), value, flags)
    };
    if defined < 0 { Err(Error::Exception) } else { Ok(()) }
}

/// The value of a JSON text.
pub(crate) fn parse<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Value<'js>> {
    let context = ctx.as_raw().as_ptr();
    match read::parse(context, text.as_bytes()) {
        // SAFETY: the value is new, and its only owner is the one made here.
        Some(value) => Ok(unsafe { Value::from_raw(ctx.clone(), value) }),
        None => ctx.json_parse(text),
    }
}

/// `JSON.parse(text, reviver)`.
unsafe extern "C" fn parse_global(
    context: *mut qjs::JSContext,
    this: qjs::JSValue,
    count: i32,
    arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS gives at least as many arguments as the function's length, filled up with undefined, and keeps
    // them alive for the time of the call.
    unsafe {
        let (text, reviver) = (*arguments, *arguments.add(1));
        if !qjs::JS_IsUndefined(reviver) {
            return call_own_parse(context, this, count, arguments);
        }
        let mut length = 0;
        let bytes = qjs::JS_ToCStringLen2(context, &mut length, text, false);
        if bytes.is_null() {
            return qjs::JS_EXCEPTION;
        }
        let text = std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
        let value = read::parse(context, text)
            .unwrap_or_else(|| qjs::JS_ParseJSON(context, bytes, length, c"<input>".as_ptr()));
        qjs::JS_FreeCString(context, bytes);
        value
    }
}

unsafe fn call_own_parse(
    context: *mut qjs::JSContext,
    this: qjs::JSValue,
    count: i32,
    arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: the context is the one of this call; the function is alive until it is dropped here.
    unsafe {
        let ctx = Ctx::from_raw(std::ptr::NonNull::new_unchecked(context));
        let own = OWN_PARSE.with_borrow(|own| own.clone()).and_then(|own| own.restore(&ctx).ok());
        match own {
            Some(own) => qjs::JS_Call(context, own.as_raw(), this, count, arguments),
            None => qjs::JS_UNDEFINED,
        }
    }
}

/// `JSON.stringify(value, replacer, space)`.
unsafe extern "C" fn stringify_global(
    context: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _count: i32,
    arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: as for `parse_global`.
    unsafe {
        let (value, replacer, space) = (*arguments, *arguments.add(1), *arguments.add(2));
        let is_plain = qjs::JS_IsUndefined(replacer) || qjs::JS_IsNull(replacer);
        if is_plain && (qjs::JS_IsUndefined(space) || qjs::JS_IsNull(space)) {
            match text_of(context, value) {
                Some(Some(text)) => return qjs::JS_NewStringLen(context, text.as_ptr().cast(), text.len() as _),
                Some(None) => return qjs::JS_UNDEFINED,
                None => {}
            }
        }
        qjs::JS_JSONStringify(context, value, replacer, space)
    }
}
