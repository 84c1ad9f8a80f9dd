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

/// What a module of a component is a function of.
const MODULE_PARAMETERS: &str = "exports, require, module, __filename, __dirname";

/// Where the linker puts packages.
const PACKAGES_FOLDER: &str = "/node_modules/";

/// The function of a module of a component.
pub(crate) fn compile_module<'js>(ctx: &Ctx<'js>, source: String, path: &str) -> Result<Value<'js>> {
    compile(ctx, source, path, MODULE_PARAMETERS, text_of(path))
}

/// A module of a component, for [`evaluate_bytecode`] in another instance.
pub(crate) fn module_to_bytecode(ctx: &Ctx<'_>, source: String, path: &str) -> Result<Vec<u8>> {
    parse_function(ctx, source, path, MODULE_PARAMETERS)?.write(text_of(path))
}

/// The function of a module that [`module_to_bytecode`] compiled. QuickJS trusts what it reads: `bytecode` must be ours.
pub(crate) fn evaluate_bytecode<'js>(ctx: &Ctx<'js>, bytecode: &[u8]) -> Result<Value<'js>> {
    Script::read(ctx, bytecode)?.evaluate()
}

/// Of its author's own functions a component may want the text; that of packages would be a large part of the image.
fn text_of(path: &str) -> SourceText {
    if path.starts_with(PACKAGES_FOLDER) { SourceText::Dropped } else { SourceText::Kept }
}

/// Compiles a CommonJS module to a function of `parameters`.
pub(crate) fn compile<'js>(
    ctx: &Ctx<'js>,
    body: String,
    name: &str,
    parameters: &str,
    text: SourceText,
) -> Result<Value<'js>> {
    let script = parse_function(ctx, body, name, parameters)?;
    let script = match text {
        SourceText::Kept => script,
        SourceText::Dropped => Script::read(ctx, &script.write(text)?)?,
    };
    script.evaluate()
}

/// A script whose value is the function.
///
/// The wrapper takes two lines before the first, which is how the module's first line becomes line 1: QuickJS takes a
/// start at line 0 for "not given".
fn parse_function<'js>(ctx: &Ctx<'js>, body: String, name: &str, parameters: &str) -> Result<Script<'js>> {
    // A hash-bang is legal only at the very start of a script; as a comment it keeps the line count.
    let comment = if body.starts_with("#!") { "//" } else { "" };
    let (head, tail) = (format!("(function ({parameters}) {{\n\n{comment}"), "\n})\0");
    let mut source = String::with_capacity(head.len() + body.len() + tail.len());
    source.push_str(&head);
    source.push_str(&body);
    source.push_str(tail);
    drop(body);
    parse(ctx, &source, name, -1)
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
    let bytecode = unsafe { qjs::JS_Eval2(ctx.as_raw().as_ptr(), source.as_ptr().cast(), length as _, &mut options) };
    Script::new(ctx, bytecode)
}

// === impl Script ===

impl<'js> Script<'js> {
    fn new(ctx: &Ctx<'js>, bytecode: qjs::JSValue) -> Result<Self> {
        // SAFETY: only the value's own bits are looked at.
        if unsafe { qjs::JS_IsException(bytecode) } {
            return Err(Error::Exception);
        }
        Ok(Self { ctx: ctx.clone(), bytecode })
    }

    fn write(self, text: SourceText) -> Result<Vec<u8>> {
        let context = self.ctx.as_raw().as_ptr();
        let strip = if text == SourceText::Dropped { qjs::JS_WRITE_OBJ_STRIP_SOURCE } else { 0 };
        let mut length = 0;
        // SAFETY: the buffer is QuickJS's own, of the length it says, and is freed with its allocator after copying.
        unsafe {
            let flags = (qjs::JS_WRITE_OBJ_BYTECODE | strip) as i32;
            let buffer = qjs::JS_WriteObject(context, &mut length, self.bytecode, flags);
            if buffer.is_null() {
                return Err(Error::Exception);
            }
            let bytes = std::slice::from_raw_parts(buffer, length as usize).to_vec();
            qjs::js_free(context, buffer.cast());
            Ok(bytes)
        }
    }

    /// QuickJS trusts what it reads: `bytes` must come from `write`.
    fn read(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Self> {
        // SAFETY: the bytes are ours, see above, and outlive the call.
        let read = unsafe {
            let flags = qjs::JS_READ_OBJ_BYTECODE as i32;
            qjs::JS_ReadObject(ctx.as_raw().as_ptr(), bytes.as_ptr(), bytes.len() as _, flags)
        };
        Self::new(ctx, read)
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
