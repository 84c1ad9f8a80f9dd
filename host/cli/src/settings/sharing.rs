//! Settings of a store that several hosts share, and of a host among others.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use platform::records::LAYOUT;
use serde::{Deserialize, Serialize};
use store::{Options, Tls};

use super::Settings;
use crate::failure::Misuse;

/// How the store is reached: what the operator's commands need as well.
#[derive(clap::Args, Serialize, Clone, Debug, Default)]
pub(crate) struct StoreFlags {
    /// What every key in Redis begins with, and the name of the schema in PostgreSQL; installations that share a server need
    /// different ones [default: wellspring]
    #[arg(long, value_name = "PREFIX", env = "WELLSPRING_STORE_PREFIX", global = true)]
    store_prefix: Option<String>,
    /// Trust the certificates in this file, and not those of the system, when the store is reached with TLS
    #[arg(long, value_name = "FILE", env = "WELLSPRING_STORE_CA", global = true)]
    store_ca: Option<PathBuf>,
    /// Show this certificate to the store
    #[arg(long, value_name = "FILE", env = "WELLSPRING_STORE_CERT", global = true)]
    store_cert: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", env = "WELLSPRING_STORE_KEY", global = true)]
    store_key: Option<PathBuf>,
    /// Be a version that reads no newer layout than this: for tests of upgrades
    #[arg(long, value_name = "LAYOUT", env = "WELLSPRING_STORE_LAYOUT", hide = true, global = true)]
    store_layout: Option<u32>,
}

/// How a host behaves among others.
#[derive(clap::Args, Serialize, Clone, Debug, Default)]
pub(crate) struct HostFlags {
    /// When a commit in Redis is answered: on `disk`, as far as Redis is configured for it, or when a `replica` has it as
    /// well [default: disk]
    #[arg(long, value_name = "WHERE", env = "WELLSPRING_DURABILITY", value_enum, hide_possible_values = true)]
    durability: Option<Durability>,
    /// End instead of warning when the store is not configured to keep what it is given
    #[arg(long, value_name = "YES", env = "WELLSPRING_REQUIRE_DURABLE", num_args = 0..=1, default_missing_value = "true")]
    require_durable: Option<bool>,
    /// Answer what reads, and refuse what would change something: so `migrate` and `backup` can copy the store meanwhile
    #[arg(long, value_name = "YES", env = "WELLSPRING_READ_ONLY", num_args = 0..=1, default_missing_value = "true")]
    read_only: Option<bool>,
    /// How long Redis or PostgreSQL may take to answer before a request is refused: 100 to 60000 [default: 1800]
    #[arg(long, value_name = "MS", env = "WELLSPRING_STORE_TIMEOUT_MS")]
    store_timeout_ms: Option<u64>,
    /// How long a server goes on accepting connections after SIGTERM, while `/readyz` says that it stops
    /// [default: 5 with `--store`, else 0]
    #[arg(long, value_name = "SECONDS", env = "WELLSPRING_DRAIN_SECONDS")]
    drain_seconds: Option<u64>,
    /// Within what time other hosts go on with the work of one that died: 3 to 3600 [default: 5]
    #[arg(long, value_name = "SECONDS", env = "WELLSPRING_TAKEOVER_SECONDS")]
    takeover_seconds: Option<u64>,
}

#[derive(clap::ValueEnum, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Durability {
    Disk,
    Replica,
}

pub(crate) const PREFIX: &str = "wellspring";
pub(crate) const STORE_TIMEOUT_MS: u64 = 1800;
pub(crate) const TAKEOVER_SECONDS: u64 = 5;
/// A lease is renewed every third of it, and found expired within a second: less is too little for a host that is busy. A call to
/// Redis that shares a group with others may take some tens of milliseconds; longer than a minute no client waits.
pub(super) const BOUNDS: [(&str, RangeInclusive<u64>); 2] =
    [("takeover_seconds", 3..=3600), ("store_timeout_ms", 100..=60_000)];
/// What a balancer needs to notice, which asks every second or two.
const DRAIN_SECONDS: u64 = 5;

impl Settings {
    pub(crate) fn store_options(&self) -> Result<Options> {
        let ca = self.store_ca.as_deref().map(pem).transpose()?;
        let client = match (&self.store_cert, &self.store_key) {
            (Some(certificate), Some(key)) => Some((pem(certificate)?, pem(key)?)),
            (None, None) => None,
            _ => {
                return Err(Misuse::of(anyhow!("`store_cert` and `store_key` are given together or not at all")).into());
            }
        };
        Ok(Options {
            prefix: self.store_prefix.clone(),
            tls: Tls { ca, client },
            durability: match self.durability {
                Durability::Disk => store::Durability::Disk,
                Durability::Replica => store::Durability::Replica,
            },
            patience: Duration::from_millis(self.store_timeout_ms),
        })
    }

    /// The same for another folder.
    pub(crate) fn at(&self, data: &Path) -> Self {
        let mut settings = self.clone();
        settings.data = data.to_owned();
        settings
    }

    pub(crate) fn needs_replica(&self) -> bool {
        self.durability == Durability::Replica
    }

    pub(crate) fn drain(&self) -> Duration {
        let default = if self.store.is_some() { DRAIN_SECONDS } else { 0 };
        Duration::from_secs(self.drain_seconds.unwrap_or(default))
    }

    /// Limits and shares of tenants: hosts that share a store must agree on them.
    pub(crate) fn to_agree_on(&self) -> Vec<(String, toml::Value)> {
        const OWN: [&str; 23] = [
            "data",
            "store",
            "store_prefix",
            "store_ca",
            "store_cert",
            "store_key",
            "store_timeout_ms",
            "store_layout",
            "drain_seconds",
            "listen",
            "trusted_proxy",
            "accept_after_ms",
            "isolate",
            "isolate_groups",
            "memory",
            "log_format",
            "otlp_endpoint",
            "share",
            "require_durable",
            "read_only",
            "npm_credentials",
            "egress_allow_self",
            "memory_bytes",
        ];
        let table = toml::Table::try_from(self).unwrap_or_default();
        table.into_iter().filter(|(name, _)| !OWN.contains(&name.as_str())).collect()
    }

    /// The newest layout of records that this server reads.
    pub(crate) fn reads_layout(&self) -> u32 {
        self.store_layout.unwrap_or(LAYOUT).min(LAYOUT)
    }

    /// How long a lease of a host lasts that is not heard of. Where one process has the store, leases end with it.
    pub(crate) fn lease_ms(&self) -> Option<u64> {
        self.store.is_some().then(|| self.takeover_seconds.saturating_sub(1).saturating_mul(1000))
    }
}

fn pem(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
