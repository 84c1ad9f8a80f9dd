//! The shim: QuickJS and a JavaScript prelude behind the functions of `wit/`.
//!
//! One instance is one thread of one run. All state lives in linear memory and is quiet between two exported calls,
//! because the host takes its images there.

mod allocator;
mod engine;
mod event_loop;
mod natives;
mod prelude;
mod script;

wit_bindgen::generate!({ path: "../wit", world: "shim" });

use exports::wellspring::wall::component::Guest;

struct Shim;

impl Guest for Shim {
    fn init() {
        allocator::zero_what_is_freed(|| {
            engine::start();
            engine::collect();
        });
    }

    fn load(program: String) -> Result<(), String> {
        allocator::zero_what_is_freed(|| {
            let result = event_loop::call("load", program).map(|_| ());
            engine::collect();
            allocator::fill_holes();
            result
        })
    }

    fn describe() -> Result<String, String> {
        event_loop::call("describe", String::new())
    }

    fn invoke(call: String) -> Result<String, String> {
        natives::forget_random_state();
        event_loop::call("invoke", call)
    }
}

export!(Shim);
