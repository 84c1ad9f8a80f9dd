//! The one binary: `wellspring`.

use std::process::ExitCode;

/// Every request makes and drops hundreds of small values on whichever thread is free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    wellspring::main()
}
