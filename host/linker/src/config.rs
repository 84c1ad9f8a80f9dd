//! Configuration of linking.

use std::{path::PathBuf, time::Duration};

use crate::registry::{CredentialRule, Registry};

/// Everything but the network. No part has a default that could surprise: `Config::new` asks for the
/// two that depend on the machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// Packuments and unpacked packages. May be emptied at any time, and is shared by processes.
    pub cache_folder: PathBuf,
    pub registry: Registry,
    pub limits: Limits,
    pub es_modules: EsModules,
    /// What `engines.node` is compared with.
    pub node_version: String,
    /// How long a packument is used without asking the registry whether it changed.
    pub packument_fresh_for: Duration,
    /// What the cache may grow to before what was not used for longest is removed.
    pub cache_bytes: u64,
    /// Packuments and archives that are being transferred and unpacked, of all links together; more of them wait.
    pub transfer_bytes: u64,
    /// What all links together may hold in memory: packuments, unpacked packages, and what is parsed and linked of them.
    /// A link that needs more than its share waits until no other does.
    pub link_bytes: u64,
    /// The tenants and scopes that the credentials of npm's configuration are used for; none when empty.
    pub credentials: Vec<CredentialRule>,
    /// Links under way at a time; each has a thread with a large stack.
    pub max_concurrent_links: usize,
}

/// What becomes of ES modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EsModules {
    /// Rewritten to CommonJS, so that a CommonJS loader alone runs everything.
    Lower,
    /// Handed over as they are, for an engine with a loader for ES modules.
    Keep,
}

/// Bounds of one link, each far above what the largest packages in common use need.
#[derive(Clone, Debug)]
pub struct Limits {
    pub package_count: usize,
    /// Of one packument. The largest abbreviated ones are about 20 MB.
    pub packument_bytes: u64,
    /// Of all packuments of one link: they are in memory while its packages are chosen.
    pub packuments_bytes: u64,
    /// Of one compressed tarball.
    pub tarball_bytes: u64,
    /// Of one package, all files counted, also those that are not kept.
    pub unpacked_bytes: u64,
    /// Of one package.
    pub file_count: usize,
    /// Of the files that are kept, all packages together: they are in memory while linking.
    pub total_bytes: u64,
    pub module_count: usize,
    /// Of one file that is parsed.
    pub source_bytes: usize,
    /// Of all modules of one `Linked`.
    pub linked_bytes: usize,
}

/// The release line whose behaviour the guest imitates.
const NODE_VERSION: &str = "22.20.0";

// === impl Config ===

impl Config {
    pub fn new(cache_folder: PathBuf, registry: Registry) -> Self {
        Self {
            cache_folder,
            registry,
            limits: Limits::default(),
            es_modules: EsModules::Lower,
            node_version: NODE_VERSION.to_owned(),
            // The `max-age` that npm's public registry answers with.
            packument_fresh_for: Duration::from_secs(300),
            // Some two thousand packages with everything they depend on.
            cache_bytes: 4 << 30,
            transfer_bytes: 256 << 20,
            // The largest package in common use takes 250 MB, twice its files.
            link_bytes: 512 << 20,
            credentials: Vec::new(),
            max_concurrent_links: 2,
        }
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            package_count: 2000,
            packument_bytes: 64 << 20,
            packuments_bytes: 256 << 20,
            tarball_bytes: 64 << 20,
            unpacked_bytes: 512 << 20,
            file_count: 50_000,
            total_bytes: 512 << 20,
            module_count: 20_000,
            source_bytes: 16 << 20,
            linked_bytes: 128 << 20,
        }
    }
}
