//! Runs components: modules → image → one fuel-limited run.
//!
//! The only crate that runs WebAssembly. QuickJS was compiled ahead of time and is part of the program (`engine`); a
//! component is only memory (`snapshot`), taken after its code was evaluated, and every invocation starts from a copy-on-write
//! mapping of it (`slots`, `run`). What a component can cause outside its memory is listed in `wall`, one file per
//! interface of `wit/`.
//!
//! Runs are made in this process, or in worker processes that can do nothing else (`isolated`).
//!
//! A component's failure is an [`Outcome`] with a [`Fault`]; an `Err` means that the host failed.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]

mod aside;
mod cache;
mod compile;
mod engine;
mod idle;
mod images;
#[cfg(target_os = "linux")]
mod isolated;
#[cfg(not(target_os = "linux"))]
#[path = "isolated/elsewhere.rs"]
mod isolated;
mod limits;
mod memory;
mod meter;
mod offline;
mod outcome;
mod peers;
mod program;
mod region;
mod run;
mod sandbox;
mod services;
mod slots;
mod snapshot;
mod stacks;
mod tape;
mod wall;

pub mod measure;

pub use aside::{Elsewhere, Moved};
pub use isolated::{Ended as WorkerEnded, Layer, Probe, Processes, Report, WorkerSettings, main as worker_main};
pub use limits::{LimitKind, Limits};
pub use outcome::{Effect, EffectKind, Emit, EmitMetadata, Fault, Level, LogLine, Outcome, Thrown, Usage, Write};
pub use peers::{Asked, Claim, Peers};
pub use program::{Module, ModuleKind, Program, ReadProgram, Sources};
pub use sandbox::{Building, Built, Config, Error, Image, Isolation, LoadError, Sandbox, Task};
pub use services::{
    FetchBody, FetchError, FetchRequest, FetchRequestBody, FetchResponse, PART_OF_CALL, Reply, ServiceError, Services,
};
pub use tape::{FORMAT as RECORDING_FORMAT, HostCall, Recording, Replay, ReplayMode, host_calls};
