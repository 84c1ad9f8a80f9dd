//! How the shim becomes machine code, and how that code is loaded.
//!
//! The code is compiled when the shim changes, not when a server starts: `make-engine` writes it to `guest-shim/engine/`, and
//! the sandbox carries it. What compiling and loading must agree on is here, in one place, for both; wasmtime compares the two
//! when it loads and refuses a difference. The compiler itself is behind the feature `compiler`, so that a server has none.

#[cfg(feature = "compiler")]
mod compile;
#[cfg(feature = "compiler")]
mod split;

#[cfg(feature = "compiler")]
pub use compile::{Compiled, Error, Target, compile};
#[cfg(feature = "compiler")]
pub use split::SplitError;

/// A page of WebAssembly's memory.
pub const PAGE_BYTES: usize = 64 << 10;
/// All that a 32-bit guest can address. Its code has no checks of bounds: what lies beyond its size cannot be touched.
pub const RESERVED_BYTES: usize = 4 << 30;
/// Before and after it: an address is at most 32 bits and a constant away from the start.
pub const GUARD_BYTES: usize = 32 << 20;
/// Exported by the code beside what the shim exports, so that the host can see that the stack was empty when an image was
/// taken.
pub const STACK_POINTER_EXPORT: &str = "stack-pointer";

/// The settings that decide what is compiled. Loading adds its own to them, of stacks and memories.
pub fn settings() -> wasmtime::Config {
    let mut settings = wasmtime::Config::new();
    settings
        .consume_fuel(true)
        .memory_reservation(RESERVED_BYTES as u64)
        .memory_guard_size(GUARD_BYTES as u64)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        // A trap ends the run and a panic does not cross a guest's frames, so nothing unwinds through them.
        .native_unwind_info(cfg!(windows));
    settings
}
