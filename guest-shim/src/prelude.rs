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
pub(crate) const EVALUATED: &[&str] = &[
    "core/primordials",
    "core/errors",
    "core/inspect",
    "core/console",
    "core/randomness",
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

/// What the shim calls; `core/entry-points.js` has one function for each.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryPoint {
    Load,
    Describe,
    Invoke,
    Stall,
    Finish,
    NoteRejection,
    CheckRejections,
    NextWait,
    FireTimer,
    Complete,
    RunTicks,
}

impl EntryPoint {
    /// In the order of the variants.
    const NAMES: [&str; Self::COUNT] = [
        "load",
        "describe",
        "invoke",
        "stall",
        "finish",
        "noteRejection",
        "checkRejections",
        "nextWait",
        "fireTimer",
        "complete",
        "runTicks",
    ];
    pub(crate) const COUNT: usize = Self::RunTicks as usize + 1;
}

/// Those of [`EVALUATED`] that a component cannot run without: they come first.
pub(crate) fn core() -> &'static [&'static str] {
    let count = EVALUATED.iter().take_while(|name| name.starts_with("core/")).count();
    EVALUATED.split_at(count).0
}

/// Evaluates files of the prelude and returns its entry points.
pub(crate) fn evaluate(ctx: &Ctx<'_>, files: &[&str]) -> [Persistent<Function<'static>>; EntryPoint::COUNT] {
    let internal = Object::new(ctx.clone()).expect("memory for an object");
    let host = natives::object(ctx).expect("natives are functions");
    for name in files {
        run_file(ctx, name, &internal, &host);
    }
    let entry_points: Object = internal.get("entryPoints").expect("core/entry-points.js sets it");
    EntryPoint::NAMES.map(|name| {
        let function: Function = entry_points.get(name).expect("the prelude has every entry point");
        Persistent::save(ctx, function)
    })
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
