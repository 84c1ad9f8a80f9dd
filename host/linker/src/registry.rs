//! The npm registry: where it is, what it knows about a package, and the packages themselves.

mod archive;
mod cache;
mod client;
mod credentials;
mod eviction;
mod integrity;
mod npmrc;
mod packument;
mod pick;
mod substitutes;

pub use credentials::{CredentialRule, CredentialRuleError};
pub use npmrc::Registry;

pub(crate) use archive::{Files, NATIVE_BUILD_FILE, size_of};
pub(crate) use client::Client;
pub(crate) use packument::{Manifest, Packument};
pub(crate) use pick::{Spec, Wanted, satisfies};
