//! The shim: QuickJS and a JavaScript prelude behind the functions of `wit/`.
//!
//! One instance is one thread of one run. All state lives in linear memory and is quiet between two exported calls,
//! because the host takes its images there.

mod allocator;
mod engine;
mod event_loop;
mod json;
mod natives;
mod prelude;
mod script;

wit_bindgen::generate!({ path: "../wit", world: "shim" });

use event_loop::Input;
use exports::wellspring::wall::component::Guest;
use prelude::EntryPoint;
use rquickjs::CatchResultExt;

struct Shim;

impl Guest for Shim {
    fn init() {
        start(prelude::EVALUATED);
    }

    fn init_core() {
        start(prelude::core());
    }

    fn load(program: String) -> Result<(), String> {
        allocator::zero_what_is_freed(|| {
            // The runs to come must find no trace of it, not even a group of log lines left open.
            event_loop::leave_something();
            let result = event_loop::call(EntryPoint::Load, Input::Text(program)).map(|_| ());
            engine::collect();
            allocator::leave_holes_behind();
            result
        })
    }

    fn compile(path: String, source: String) -> Result<Vec<u8>, ()> {
        engine::with_context(|ctx| script::module_to_bytecode(ctx, source, &path).catch(ctx).map_err(drop))
    }

    fn describe() -> Result<String, String> {
        event_loop::call(EntryPoint::Describe, Input::Text(String::new()))
    }

    fn invoke(call: String) -> Result<String, String> {
        natives::forget_random_state();
        event_loop::call(EntryPoint::Invoke, Input::Json(call))
    }
}

export!(Shim);

fn start(files: &'static [&'static str]) {
    allocator::zero_what_is_freed(|| {
        engine::start(files);
        engine::collect();
    });
}
