//! What the product does: `manage` is the control plane, `flow` the data plane, `invoke` the pipeline that both run
//! components with.
//!
//! Everything outside is behind [`ports`] or the store's trait, so behaviour is tested with [`fake`]s. No wasmtime, no
//! hyper, no database here. Every use case takes the [`Caller`] first: an id of another tenant is not found.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests measure, wait and spawn as they like"))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::needless_pass_by_value,
        clippy::redundant_clone,
        reason = "a test says what is wrong by panicking, and reads best with its JSON written in the call"
    )
)]

mod held;
pub mod hosts;
pub mod paging;
pub mod ports;
pub mod secret;
pub mod watching;

pub mod records;
pub mod vault;

mod caller;
mod data_stores;
mod effects;
mod error;
mod keeping;
mod key_uses;
mod numbers;
mod platform;
mod posting;
mod programs;
mod providers;
mod quotas;
mod rate;
mod relaying;
mod sealed_props;
mod shares;
pub mod spans;
mod streams;
pub mod tokens;

mod invoke;

pub mod flow;
pub mod manage;

/// For tests of the crates above; not in the shipped binary.
#[cfg(any(test, feature = "testing"))]
pub mod fake;

pub use caller::{Caller, UsedKey};
pub use data_stores::with_data_stores;
pub use error::{Error, KeyProblem, Noun, ParameterError, UsedBy};
pub use platform::{Config, Parts, Platform};
pub use programs::{Converted, Programs, convert as convert_programs};
pub use rate::Rate;
pub use secret::Secret;
pub use shares::{Pools, Shares};

/// For maps that every request looks things up in: seeded, and several times as fast as the standard hasher.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
