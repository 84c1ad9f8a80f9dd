//! How a command that failed says so: `error:` on standard error, and an exit code.
//!
//! 1: it failed or was refused. 2: it was not asked for properly (clap's own code): an option, a setting, a file of
//! settings. A supervisor need not restart a server that exited with 2.

use std::process::ExitCode;

use crate::logging;

/// What was asked for cannot be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(crate) struct Misuse(anyhow::Error);

// === impl Misuse ===

impl Misuse {
    pub(crate) fn of(error: impl Into<anyhow::Error>) -> Self {
        Self(error.into())
    }
}

pub(crate) fn tell(error: anyhow::Error) -> ExitCode {
    let error = match error.downcast::<remote::Error>() {
        // It knows what to do about it.
        Ok(error) => return remote::finish(Err(error), false),
        Err(error) => error,
    };
    logging::fail(&format!("{error:#}"));
    let is_misuse = error.chain().any(|cause| cause.is::<Misuse>());
    ExitCode::from(if is_misuse { 2 } else { 1 })
}
