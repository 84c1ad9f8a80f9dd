//! `wit/clock.wit`

use super::{Caller, Linker, Stop};
use crate::run::Run;
use crate::tape::Kind;

const INTERFACE: &str = "wellspring:wall/clock@0.1.0";

pub(super) fn add(linker: &mut Linker) -> wasmtime::Result<()> {
    linker.func_wrap(INTERFACE, "now", |mut caller: Caller<'_>| Ok(caller.data_mut().now_ms()?))?;
    linker.func_wrap(INTERFACE, "elapsed", |mut caller: Caller<'_>| Ok(caller.data_mut().elapsed_ms()?))?;
    Ok(())
}

// === impl Run ===

impl Run {
    pub(crate) fn now_ms(&mut self) -> Result<f64, Stop> {
        let services = &self.services;
        self.tape.number(Kind::Now, || services.now_ms())
    }

    pub(crate) fn elapsed_ms(&mut self) -> Result<f64, Stop> {
        let started = self.started;
        self.tape.number(Kind::Elapsed, || started.elapsed().as_secs_f64() * 1000.0)
    }
}
