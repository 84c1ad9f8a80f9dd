//! Links a component: from its source and the npm packages it requires to a table of modules.
//!
//! Modules stay apart, none is bundled into another, so that CommonJS stays sloppy, stack traces name
//! the author's file and line, and no bundler can miscompile. The table is stored with the deploy; the
//! guest has a loader over it.
//!
//! Nothing is ever unpacked to disk, no install script ever runs, and nothing that came from outside
//! names a path on the host. The network is reached through [`Fetch`] alone.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test may fail"
    )
)]

mod link;

mod config;
mod entry;
mod error;
mod fetch;
mod linked;
mod progress;

mod acquire;
mod alone;
mod graph;
mod imports;
mod manifest;
mod memory;
mod modules;
mod registry;
mod requirements;
mod specifier;
mod tree;
mod unsupported;
mod volume;
mod workers;

#[cfg(test)]
mod testing;

pub use alone::link_alone;
pub use config::{Config, EsModules, Limits};
pub use entry::Entry;
pub use error::{ArchiveFault, Blame, LimitKind, LinkError, NameFault, SourceLocation};
pub use fetch::{Fetch, FetchError, FetchResponse};
pub use link::Linker;
pub use linked::{Dependency, Linked, Module, ModuleKind, Warning};
pub use progress::{Progress, ProgressFn};
pub use registry::{CredentialRule, CredentialRuleError, Registry};
pub use unsupported::Need;
