//! Turning source text into functions, so that positions in errors are the author's own.

use std::ffi::CString;

use rquickjs::{Ctx, Error, Result, Value, qjs};

/// Evaluates a script in sloppy mode and returns its value. Its first line has the number `first_line`.
///
/// `source` ends with a NUL, because QuickJS reads one byte past the end and wants one there.
fn evaluate<'js>(ctx: &Ctx<'js>, source: &str, name: &str, first_line: i32) -> Result<Value<'js>> {
    let name = CString::new(name).map_err(Error::InvalidString)?;
    let length = source.len() - 1;
    let mut options = qjs::JSEvalOptions {
        version: qjs::JS_EVAL_OPTIONS_VERSION as i32,
        eval_flags: qjs::JS_EVAL_TYPE_GLOBAL as i32,
        filename: name.as_ptr(),
        line_num: first_line,
    };
    // SAFETY: source and name outlive the call; the value is owned by the context it is handed to.
    unsafe {
        let value = qjs::JS_Eval2(ctx.as_raw().as_ptr(), source.as_ptr().cast(), length as _, &mut options);
        if qjs::JS_IsException(value) {
            return Err(Error::Exception);
        }
        Ok(Value::from_raw(ctx.clone(), value))
    }
}

/// Compiles a CommonJS module to a function of `parameters`.
///
/// The wrapper takes two lines before the first, which is how the module's first line becomes line 1: QuickJS takes a
/// start at line 0 for "not given".
pub(crate) fn compile<'js>(ctx: &Ctx<'js>, body: String, name: &str, parameters: &str) -> Result<Value<'js>> {
    // A hash-bang is legal only at the very start of a script; as a comment it keeps the line count.
    let comment = if body.starts_with("#!") { "//" } else { "" };
    let (head, tail) = (format!("(function ({parameters}) {{\n\n{comment}"), "\n})\0");
    let mut source = String::with_capacity(head.len() + body.len() + tail.len());
    source.push_str(&head);
    source.push_str(&body);
    source.push_str(tail);
    drop(body);
    evaluate(ctx, &source, name, -1)
}
