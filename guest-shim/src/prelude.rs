//! The JavaScript part of the shim.
//!
//! Every file is the body of a function of `(internal, host)`: `internal` is what the files share, `host` the native
//! functions. Neither is ever reachable from a component. Files named here are evaluated once into the base image; all
//! others when `internal.lazy` first asks for them.

use rquickjs::{CatchResultExt, Ctx, Function, Object, Persistent};

use crate::{natives, script};

/// Name and text of every file, sorted within each folder. `build.rs` makes it.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

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

/// The text of a file that is evaluated when it is first needed.
pub(crate) fn lazy_source(name: String) -> Option<&'static str> {
    SOURCES.iter().find(|(found, _)| *found == name).map(|(_, source)| *source)
}

fn run_file<'js>(ctx: &Ctx<'js>, name: &str, internal: &Object<'js>, host: &Object<'js>) {
    let body = lazy_source(name.to_owned()).unwrap_or_else(|| panic!("there is no prelude/{name}.js"));
    let result = script::compile(ctx, body, &format!("wellspring:{name}.js"), "internal, host")
        .and_then(|function| function.get::<Function>()?.call::<_, ()>((internal.clone(), host.clone())))
        .catch(ctx);
    if let Err(error) = result {
        // Only a mistake in the prelude itself gets here, and then nothing can work.
        panic!("{name}: {error}");
    }
}
