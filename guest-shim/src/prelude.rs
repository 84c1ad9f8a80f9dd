//! The JavaScript part of the shim.
//!
//! Every file is the body of a function of `(internal, host)`: `internal` is what the files share, `host` the native
//! functions. Neither is ever reachable from a component. Files named here are evaluated once into the base image; all
//! others when `internal.lazy` first asks for them.

use std::io::Read;

use flate2::read::DeflateDecoder;
use rquickjs::{CatchResultExt, Ctx, Function, Object, Persistent, Result, Value};

use crate::natives;
use crate::script::{self, SourceText};

/// Name and deflated text of every file, sorted within each folder. `build.rs` makes it.
static SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// In the order in which they are evaluated.
const EVALUATED: &[&str] = &[
    "core/primordials",
    "core/errors",
    "core/inspect",
    "core/console",
    "core/timers",
    "core/modules",
    "core/effects",
    "core/instance",
    "core/describe",
    "core/entry-points",
    "web/lazy",
    "web/http-client",
    "web/globals",
    "node/errors",
    "node/callsite",
    "node/process",
    "node/npm",
    "node/builtins",
    "node/globals",
];

/// Evaluates the prelude and returns the object that holds its entry points.
pub(crate) fn evaluate(ctx: &Ctx<'_>) -> Persistent<Object<'static>> {
    let internal = Object::new(ctx.clone()).expect("memory for an object");
    let host = natives::object(ctx).expect("natives are functions");
    for name in EVALUATED {
        run_file(ctx, name, &internal, &host);
    }
    let entry_points: Object = internal.get("entryPoints").expect("core/entry-points.js sets it");
    Persistent::save(ctx, entry_points)
}

/// The function of a file that is evaluated when it is first needed.
pub(crate) fn compile_lazy<'js>(ctx: Ctx<'js>, name: String) -> Result<Option<Value<'js>>> {
    source(&name).map(|body| compile(&ctx, body, &name)).transpose()
}

fn run_file<'js>(ctx: &Ctx<'js>, name: &str, internal: &Object<'js>, host: &Object<'js>) {
    let body = source(name).unwrap_or_else(|| panic!("there is no prelude/{name}.js"));
    let result = compile(ctx, body, name)
        .and_then(|function| function.get::<Function>()?.call::<_, ()>((internal.clone(), host.clone())))
        .catch(ctx);
    if let Err(error) = result {
        // Only a mistake in the prelude itself gets here, and then nothing can work.
        panic!("{name}: {error}");
    }
}

fn compile<'js>(ctx: &Ctx<'js>, body: String, name: &str) -> Result<Value<'js>> {
    script::compile(ctx, body, &format!("wellspring:{name}.js"), "internal, host", SourceText::Dropped)
}

fn source(name: &str) -> Option<String> {
    let (_, deflated) = SOURCES.iter().find(|(found, _)| *found == name)?;
    let mut source = String::new();
    DeflateDecoder::new(*deflated).read_to_string(&mut source).expect("build.rs deflated a text");
    Some(source)
}
