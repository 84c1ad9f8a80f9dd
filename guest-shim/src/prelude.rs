//! The JavaScript part of the shim, evaluated once into the base image.
//!
//! Every file is the body of a function of `(internal, host)`: `internal` is what the files share, `host` the native
//! functions. Neither is ever reachable from a component.

use rquickjs::{CatchResultExt, Ctx, Function, Object, Persistent};

use crate::{natives, script};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../prelude/", $name)))),*]
    };
}

/// In the order in which they are evaluated.
const FILES: &[(&str, &str)] = &files![
    "core/primordials.js",
    "core/errors.js",
    "core/inspect.js",
    "core/console.js",
    "core/timers.js",
    "core/modules.js",
    "core/effects.js",
    "core/instance.js",
    "core/describe.js",
    "core/entry-points.js",
];

/// Evaluates the prelude and returns the object that holds its entry points.
pub(crate) fn evaluate(ctx: &Ctx<'_>) -> Persistent<Object<'static>> {
    let internal = Object::new(ctx.clone()).expect("memory for an object");
    let host = natives::object(ctx).expect("natives are functions");
    for (name, body) in FILES {
        run_file(ctx, name, body, &internal, &host);
    }
    let entry_points: Object = internal.get("entryPoints").expect("core/entry-points.js sets it");
    Persistent::save(ctx, entry_points)
}

fn run_file<'js>(ctx: &Ctx<'js>, name: &str, body: &str, internal: &Object<'js>, host: &Object<'js>) {
    let result = script::compile(ctx, body, &format!("wellspring:{name}"), "internal, host")
        .and_then(|function| function.get::<Function>()?.call::<_, ()>((internal.clone(), host.clone())))
        .catch(ctx);
    if let Err(error) = result {
        // Only a mistake in the prelude itself gets here, and then nothing can work.
        panic!("{name}: {error}");
    }
}
