//! `wit/clock.wit`

use super::{Caller, Linker};

const INTERFACE: &str = "wellspring:wall/clock@0.1.0";

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap(INTERFACE, "now", |caller: Caller<'_>| caller.data().services.now_ms())?;
    linker
        .func_wrap(INTERFACE, "elapsed", |caller: Caller<'_>| caller.data().started.elapsed().as_secs_f64() * 1000.0)?;
    Ok(())
}
