//! The ports of the product: a sandbox, a linker, an HTTP client, time and randomness, as traits.
//!
//! The binary plugs the real ones in (`cli/serve/wiring.rs`); tests use [`crate::fake`]. Nothing here knows wasmtime,
//! a JavaScript parser or an HTTP client, so nearly all behaviour is tested without them.

mod chores;
mod linker;
mod outbound;
mod program;
pub mod progress;
mod relays;
mod sandbox;
mod services;
mod telemetry;
mod time;

pub use chores::{Chores, Progress};
pub use domain::outcome::{Effect, EffectKind, Emit, Fault, Level, LogLine, Outcome, Thrown, Usage, Write};
pub use linker::{ComponentSource, Dependency, LinkError, Linked, Linker};
pub use outbound::{Fetched, Outbound, OutboundError, Posted, Posting};
pub use program::{Module, ModuleKind, Program, ProgramHandle, ReadProgram};
pub use relays::{EmailTerms, NoRelays, NotTaken, Recipients, Relays};
pub use sandbox::{
    Call, HostCall, Load, LoadFailure, Loaded, Priority, Replay, ReplayMode, RunLimits, Sandbox, SandboxError, Task,
};
pub use services::{Carrying, Denied, Outgoing, Passage, Reply, RunServices, ServiceError};
pub use telemetry::{Attribute, LogRecord, Span, SpanKind, Telemetry};
pub use time::{Clock, Entropy, StoreClock, SystemClock, SystemEntropy};
