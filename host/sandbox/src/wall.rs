//! The host's side of `wit/`: every function a component can reach, one file per interface.
//!
//! Arguments come from code that may be hostile, so every pointer, length and text is checked here and nothing is
//! trusted. A call that would break a limit ends the run; it does not return.

mod abi;
mod auth;
mod clock;
mod db;
mod effects;
mod emit;
pub(crate) mod fetch;
mod log;
mod modules;
mod random;
mod respond;
mod timers;
mod wasi;

use admission::Full;

use crate::limits::LimitKind;
use crate::run::Run;
use crate::services::ServiceError;

pub(crate) use abi::replace_surrogates;

/// Why the host ended a run from inside one of its functions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error("the memory limit was reached")]
    OutOfMemory,
    #[error("{0}")]
    Full(Full),
    #[error("more than {limit} {what}")]
    TooMuchOutput { what: LimitKind, limit: usize },
    #[error("{function} was called with {problem}")]
    BadArgument { function: &'static str, problem: &'static str },
    #[error("the run asked for {asked}, and the recorded one for {recorded}")]
    Diverged { asked: String, recorded: String },
    #[error("the recording ends here")]
    RecordingEnded,
    #[error("{0}")]
    Aborted(String),
    #[error(transparent)]
    Service(#[from] ServiceError),
}

pub(crate) type Linker = wasmtime::Linker<Run>;
pub(crate) type Caller<'a> = wasmtime::Caller<'a, Run>;

/// All functions, under the names the shim imports them by.
pub(crate) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker> {
    let mut linker = Linker::new(engine);
    emit::add(&mut linker)?;
    db::add(&mut linker)?;
    respond::add(&mut linker)?;
    auth::add(&mut linker)?;
    effects::add(&mut linker)?;
    fetch::add(&mut linker)?;
    timers::add(&mut linker)?;
    log::add(&mut linker)?;
    clock::add(&mut linker)?;
    random::add(&mut linker)?;
    modules::add(&mut linker)?;
    wasi::add(&mut linker)?;
    Ok(linker)
}

/// Ends the run unless `used` is within `limit`.
fn within(used: usize, limit: usize, what: LimitKind) -> Result<(), Stop> {
    if used <= limit { Ok(()) } else { Err(Stop::TooMuchOutput { what, limit }) }
}

#[cfg(test)]
mod tests;
