//! How the sandbox fails: by the component's own mistake while it loads, or by the host's.

use std::io;

use admission::Full;

use crate::isolated;
use crate::outcome::{Fault, Thrown};
use crate::services::ServiceError;

/// The component cannot be loaded. Its own mistake, told to its author.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{}: {}", .0.name, .0.message)]
    Threw(Thrown),
    #[error("while the component was loading, {0}")]
    Fault(Fault),
    #[error(transparent)]
    Host(#[from] Error),
}

/// The host failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the engine failed: {0:#}")]
    Engine(#[source] wasmtime::Error),
    #[error("there is no memory for a run: {0}")]
    Memory(#[source] io::Error),
    #[error("an image could not be written: {0}")]
    Disk(#[source] io::Error),
    #[error("an instance could not be made: {0:#}")]
    Instantiate(#[source] wasmtime::Error),
    #[error("the shim is broken: {0}")]
    Shim(&'static str),
    #[error("the shim failed to start: {0}")]
    Start(Box<Fault>),
    #[error("the host stopped")]
    Ended,
    #[error("{0}")]
    Overloaded(Full),
    #[error(transparent)]
    Service(ServiceError),
    /// The runs of the worker may be made again: nothing of them was kept.
    #[error("the worker process of the run ended: {0}")]
    Worker(#[source] isolated::Ended),
    #[error("the worker process could not make the run: {reason}")]
    InWorker { reason: String },
    #[error("a program could not be encoded")]
    Encode(#[from] serde_json::Error),
}
