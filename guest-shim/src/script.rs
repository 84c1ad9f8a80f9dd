//! Turning source text into functions, so that positions in errors are the author's own.

use std::ffi::CString;

use rquickjs::{Ctx, Error, Result, Value, qjs};

/// What becomes of the text of functions, which QuickJS keeps for `toString`: of a function within a function twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceText {
    Kept,
    /// `toString` then gives what it gives for native functions. Positions in stack traces stay.
    Dropped,
}

/// Compiles a CommonJS module to a function of `parameters`.
///
/// The wrapper takes two lines before the first, which is how the module's first line becomes line 1: QuickJS takes a
/// start at line 0 for "not given".
pub(crate) fn compile<'js>(
    ctx: &Ctx<'js>,
    body: String,
    name: &str,
    parameters: &str,
    text: SourceText,
) -> Result<Value<'js>> {
    // A hash-bang is legal only at the very start of a script; as a comment it keeps the line count.
    let comment = if body.starts_with("#!") { "//" } else { "" };
    let (head, tail) = (format!("(function ({parameters}) {{\n\n{comment}"), "\n})\0");
    let mut source = String::with_capacity(head.len() + body.len() + tail.len());
    source.push_str(&head);
    source.push_str(&body);
    source.push_str(tail);
    drop(body);
    let mut script = parse(ctx, &source, name, -1)?;
    drop(source);
    if text == SourceText::Dropped {
        script = script.without_text()?;
    }
    script.evaluate()
}

/// A compiled script that was not evaluated yet.
struct Script<'js> {
    ctx: Ctx<'js>,
    bytecode: qjs::JSValue,
}

/// Compiles a script in sloppy mode. Its first line has the number `first_line`.
///
/// `source` ends with a NUL, because QuickJS reads one byte past the end and wants one there.
fn parse<'js>(ctx: &Ctx<'js>, source: &str, name: &str, first_line: i32) -> Result<Script<'js>> {
    let name = CString::new(name).map_err(Error::InvalidString)?;
    let length = source.len() - 1;
    let mut options = qjs::JSEvalOptions {
        version: qjs::JS_EVAL_OPTIONS_VERSION as i32,
        eval_flags: (qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_COMPILE_ONLY) as i32,
        filename: name.as_ptr(),
        line_num: first_line,
    };
    // SAFETY: source and name outlive the call.
    let bytecode =
        unsafe { qjs::JS_Eval2(ctx.as_raw().as_ptr(), source.as_ptr().cast(), length as _, &mut options) };
    Script::new(ctx, bytecode)
}

// === impl Script ===

impl<'js> Script<'js> {
    fn new(ctx: &Ctx<'js>, bytecode: qjs::JSValue) -> Result<Self> {
        if unsafe { qjs::JS_IsException(bytecode) } {
            return Err(Error::Exception);
        }
        Ok(Self { ctx: ctx.clone(), bytecode })
    }

    /// Written as bytecode without text and read again. It never leaves this instance: QuickJS trusts what it reads.
    fn without_text(self) -> Result<Self> {
        let (ctx, context) = (self.ctx.clone(), self.ctx.as_raw().as_ptr());
        let flags = (qjs::JS_WRITE_OBJ_BYTECODE | qjs::JS_WRITE_OBJ_STRIP_SOURCE) as i32;
        let mut length = 0;
        // SAFETY: the buffer is QuickJS's own, of the length it says, and is freed with its allocator after reading.
        unsafe {
            let buffer = qjs::JS_WriteObject(context, &mut length, self.bytecode, flags);
            drop(self);
            if buffer.is_null() {
                return Err(Error::Exception);
            }
            let read = qjs::JS_ReadObject(context, buffer, length, qjs::JS_READ_OBJ_BYTECODE as i32);
            qjs::js_free(context, buffer.cast());
            Self::new(&ctx, read)
        }
    }

    fn evaluate(self) -> Result<Value<'js>> {
        let ctx = self.ctx.clone();
        // SAFETY: JS_EvalFunction takes the bytecode over, so it must not be freed here again.
        unsafe {
            let value = qjs::JS_EvalFunction(ctx.as_raw().as_ptr(), std::mem::ManuallyDrop::new(self).bytecode);
            if qjs::JS_IsException(value) {
                return Err(Error::Exception);
            }
            Ok(Value::from_raw(ctx, value))
        }
    }
}

impl Drop for Script<'_> {
    fn drop(&mut self) {
        // SAFETY: it is owned, and alive until here.
        unsafe { qjs::JS_FreeValue(self.ctx.as_raw().as_ptr(), self.bytecode) };
    }
}
