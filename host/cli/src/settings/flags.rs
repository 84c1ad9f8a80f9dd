//! The flags of a server, and their names in the environment.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::limits::LimitFlags;
use super::relays::RelayFlags;
use super::sharing::HostFlags;
use crate::logging::LogFormat;

/// How the server behaves. Absent means: the file's, or else the default.
#[derive(clap::Args, Serialize, Clone, Debug, Default)]
pub(crate) struct Tuning {
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS", env = "WELLSPRING_LISTEN")]
    listen: Option<SocketAddr>,
    /// What clients reach this server at, when that is not where it listens
    #[arg(long, value_name = "URL", env = "WELLSPRING_PUBLIC_URL")]
    public_url: Option<String>,
    /// Endpoints of sources are also found at `<key>.<DOMAIN>`
    #[arg(long, value_name = "DOMAIN", env = "WELLSPRING_WILDCARD_DOMAIN")]
    wildcard_domain: Option<String>,
    /// A proxy whose `X-Forwarded-For` is believed: an address or a network. Repeatable, or separated by commas
    #[arg(long, value_name = "NETWORK", env = "WELLSPRING_TRUSTED_PROXY", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trusted_proxy: Vec<String>,
    /// Only let components and webhooks connect to this: `[TENANT@]TARGET[:PORT]`, where the target is a host, `*.host`, a
    /// network or `*`. Repeatable, or separated by commas; without any, everything public may be reached
    #[arg(long, value_name = "RULE", env = "WELLSPRING_EGRESS_ALLOW", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    egress_allow: Vec<String>,
    /// Never let them connect to this, written as for `--egress-allow`
    #[arg(long, value_name = "RULE", env = "WELLSPRING_EGRESS_DENY", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    egress_deny: Vec<String>,
    /// Let them connect to this server's own public addresses
    #[arg(long, value_name = "YES", env = "WELLSPRING_EGRESS_ALLOW_SELF", num_args = 0..=1, default_missing_value = "true")]
    egress_allow_self: Option<bool>,
    /// Use the credentials of npm's configuration for these packages: `[TENANT@]SCOPE`, such as `@acme`, or `*` for all.
    /// Repeatable, or separated by commas; without any they are not used
    #[arg(long, value_name = "SCOPE", env = "WELLSPRING_NPM_CREDENTIALS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    npm_credentials: Vec<String>,
    /// A request whose run takes longer is made durable and answered, and its run goes on [default: 5]
    #[arg(long, value_name = "MS", env = "WELLSPRING_ACCEPT_AFTER_MS")]
    accept_after_ms: Option<u64>,
    #[command(flatten)]
    #[serde(flatten)]
    host: HostFlags,
    /// What stands between tenants beside WebAssembly: `none`, or worker processes without files, network and privileges
    /// [default: none]
    #[arg(long, value_name = "HOW", env = "WELLSPRING_ISOLATE", value_enum, hide_possible_values = true)]
    isolate: Option<Isolate>,
    /// How many worker processes tenants are divided among [default: two for each core, at most 16]
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_ISOLATE_GROUPS")]
    isolate_groups: Option<usize>,
    /// Memory that the server keeps within: caches shrink, then deploys wait, and runs are refused last
    /// [default: half of the machine's, or of its control group's]
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_MEMORY")]
    memory: Option<u64>,
    /// How the log is written, to standard error: `text`, or `json` for one object on each line [default: text]
    #[arg(long, value_name = "FORMAT", env = "WELLSPRING_LOG_FORMAT", value_enum, hide_possible_values = true)]
    log_format: Option<LogFormat>,
    /// Send traces to this OpenTelemetry collector, as OTLP over HTTP: `http://host:4318`. Without it there are none
    #[arg(long, value_name = "URL", env = "WELLSPRING_OTLP_ENDPOINT", hide_env_values = true)]
    otlp_endpoint: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    relays: RelayFlags,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) limits: LimitFlags,
}

/// Where components run.
#[derive(clap::ValueEnum, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Isolate {
    /// In the server's process
    None,
    /// In worker processes
    Process,
}
