//! The settings of a server: each has one name, as a flag, in the environment and in the file.
//!
//! `--keep-events 500`, `WELLSPRING_KEEP_EVENTS=500` and `keep_events = 500` in the file of `--config` are the same
//! setting. A flag wins over the environment, the environment over the file, the file over the default. What is
//! dangerous is said on the command line only, and secrets never stand in the file.

mod check;
mod defaults;
mod flags;
mod limits;
mod memory;
mod relays;
mod shares;
mod sharing;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use linker::CredentialRule;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use self::check::{EVENT_BYTES, decided, read};
use self::sharing::{Durability, StoreFlags};
use crate::failure::Misuse;
use crate::logging::LogFormat;

pub(crate) use flags::{Isolate, Tuning};
pub(crate) use memory::Budget;
pub(crate) use relays::SmtpRecipients;
pub(crate) use shares::Shares;

const SHARE: &str = "share";

/// Where everything is kept: what every command of the operator asks for.
#[derive(clap::Args, Serialize, Clone, Debug, Default)]
pub(crate) struct DataSettings {
    /// A file with settings, by the names of the flags: `keep_events = 500`. Flags and the environment win over it
    #[arg(long, value_name = "FILE", env = "WELLSPRING_CONFIG", global = true)]
    #[serde(skip)]
    config: Option<PathBuf>,
    /// The folder everything is kept in [default: .wellspring]
    #[arg(long, value_name = "FOLDER", env = "WELLSPRING_DATA", global = true)]
    data: Option<PathBuf>,
    /// Keep what tenants own in Redis or PostgreSQL instead: `redis://host:port/db`, `redis+sentinel://host:port,host:port/service`
    /// or `redis+cluster://host:port,host:port`; `rediss` in place of `redis` is with TLS. Or `postgres://user@host:port/database`,
    /// with `?sslmode=require` for TLS
    #[arg(long, value_name = "URL", env = "WELLSPRING_STORE", hide_env_values = true, global = true)]
    store: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    sharing: StoreFlags,
}

/// All settings, decided.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) data: PathBuf,
    pub(crate) store: Option<String>,
    pub(crate) store_prefix: String,
    store_ca: Option<PathBuf>,
    store_cert: Option<PathBuf>,
    store_key: Option<PathBuf>,
    store_layout: Option<u32>,
    durability: Durability,
    pub(crate) require_durable: bool,
    pub(crate) read_only: bool,
    store_timeout_ms: u64,
    drain_seconds: Option<u64>,
    takeover_seconds: u64,
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: Option<String>,
    pub(crate) wildcard_domain: Option<String>,
    pub(crate) trusted_proxy: Vec<String>,
    pub(crate) egress_allow: Vec<String>,
    pub(crate) egress_deny: Vec<String>,
    pub(crate) egress_allow_self: bool,
    npm_credentials: Vec<String>,
    pub(crate) accept_after_ms: u64,
    pub(crate) isolate: Isolate,
    pub(crate) isolate_groups: Option<usize>,
    pub(crate) memory: Option<u64>,
    pub(crate) log_format: LogFormat,
    pub(crate) otlp_endpoint: Option<String>,
    pub(crate) smtp_url: Option<String>,
    pub(crate) smtp_from: Option<String>,
    pub(crate) smtp_recipients: SmtpRecipients,
    pub(crate) s3_endpoint: Option<String>,
    pub(crate) s3_region: String,
    pub(crate) s3_access_key_id: Option<String>,
    pub(crate) s3_bucket: Vec<String>,
    keep_events: usize,
    keep_logs: usize,
    keep_runs: usize,
    keep_runs_seconds: u64,
    keep_recordings: usize,
    recording_bytes: usize,
    keep_audit: u32,
    keep_audit_days: u32,
    body_bytes: usize,
    response_bytes: usize,
    event_bytes: usize,
    emits_per_run: usize,
    deliveries_per_trigger: usize,
    channels_per_source: usize,
    channel_bytes: usize,
    nesting_depth: usize,
    log_lines_per_run: usize,
    log_line_bytes: usize,
    log_bytes_per_run: usize,
    pub(crate) memory_bytes: usize,
    http_deadline_ms: u64,
    timer_deadline_ms: u64,
    fuel_per_run: Option<u64>,
    prop_value_bytes: usize,
    db_key_bytes: usize,
    db_value_bytes: usize,
    db_source_bytes: usize,
    data_store_bytes: usize,
    interval_seconds_minimum: u64,
    delivery_timeout_ms: u64,
    daily_compute_time_quota: u64,
    daily_invocations_quota: u64,
    pub(crate) share: Shares,
}

// === impl Settings ===

impl Settings {
    /// Flags and environment (clap has decided between them) over the file over the defaults.
    pub(crate) fn decide(data: &DataSettings, tuning: &Tuning) -> Result<Self> {
        let mut table = Table::try_from(Self::default())?;
        // Follows from another setting unless it is given.
        table.remove(EVENT_BYTES);
        if let Some(path) = &data.config {
            table.extend(read(path)?);
            // Judged alone first, so that the blame falls on the file.
            decided(table.clone()).with_context(|| format!("the settings in {} cannot be used", path.display()))?;
        }
        table.extend(Table::try_from(data)?);
        table.extend(Table::try_from(tuning)?);
        if let Some(Value::Table(shares)) = table.get_mut(SHARE) {
            // Each on its own: a flag for one leaves the others to the file.
            shares.extend(tuning.limits.share.iter().map(|(name, share)| (name.clone(), Value::String(share.clone()))));
        }
        decided(table)
    }

    /// The defaults, with everything kept there.
    pub(crate) fn in_folder(data: PathBuf) -> Self {
        Self { data, ..Self::default() }
    }

    /// Whom the credentials of npm's configuration are used for.
    pub(crate) fn credentials(&self) -> Result<Vec<CredentialRule>> {
        let rules = self.npm_credentials.iter().map(|rule| rule.parse());
        rules.collect::<Result<_, _>>().map_err(Misuse::of).context("`npm_credentials` cannot be used")
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget::new(self.memory)
    }

    /// As a file that says the same, with a password in an address left out.
    pub(crate) fn to_toml(&self) -> Result<String> {
        let shown = Self {
            store: self.store.as_deref().map(without_password),
            otlp_endpoint: self.otlp_endpoint.as_deref().map(without_password),
            smtp_url: self.smtp_url.as_deref().map(without_password),
            ..self.clone()
        };
        Ok(toml::to_string(&shown)?)
    }
}

/// `redis://user:secret@host` without the secret.
pub(crate) fn without_password(address: &str) -> String {
    let parts = address.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)));
    parts.map_or_else(|| address.to_owned(), |(scheme, host)| format!("{scheme}://…@{host}"))
}

#[cfg(test)]
mod tests;
