//! The settings of a server: each has one name, as a flag, in the environment and in the file.
//!
//! `--keep-events 500`, `WELLSPRING_KEEP_EVENTS=500` and `keep_events = 500` in the file of `--config` are the same
//! setting. A flag wins over the environment, the environment over the file, the file over the default. What is
//! dangerous is said on the command line only, and secrets never stand in the file.

mod memory;
mod shares;
mod sharing;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use domain::limits::{EVENT_BYTES_MAXIMUM, Limits, NAME_BYTES_MAXIMUM, NESTING_MAXIMUM, event_bytes_for};
use domain::users::Quotas;
use linker::CredentialRule;
use platform::manage::audit::AuditLimits;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::failure::Misuse;
use crate::logging::LogFormat;

pub(crate) use memory::Budget;
pub(crate) use shares::Shares;
use sharing::{Durability, HostFlags, StoreFlags};

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
    /// Keep what tenants own in Redis instead: `redis://host:port/db`, `redis+sentinel://host:port,host:port/service` or
    /// `redis+cluster://host:port,host:port`; `rediss` in place of `redis` is with TLS
    #[arg(long, value_name = "URL", env = "WELLSPRING_STORE", hide_env_values = true, global = true)]
    store: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    sharing: StoreFlags,
}

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
    /// The mail relay of `$.send.email`: `smtps://user:password@host`, or `smtp://` for STARTTLS, with `?tls=none` for none
    #[arg(long, value_name = "URL", env = "WELLSPRING_SMTP_URL", hide_env_values = true)]
    smtp_url: Option<String>,
    /// What e-mail is sent from: `noreply@example.com`, or `Wellspring <noreply@example.com>`
    #[arg(long, value_name = "ADDRESS", env = "WELLSPRING_SMTP_FROM")]
    smtp_from: Option<String>,
    /// Whom tenants may write to: `owner`, the address of their own account, or `any` [default: owner]
    #[arg(long, value_name = "WHOM", env = "WELLSPRING_SMTP_RECIPIENTS", value_enum, hide_possible_values = true)]
    smtp_recipients: Option<SmtpRecipients>,
    /// The object store of `$.send.s3`, which speaks the protocol of Amazon S3: `https://s3.example.com`. The secret key is in
    /// the environment: `WELLSPRING_S3_SECRET_ACCESS_KEY`
    #[arg(long, value_name = "URL", env = "WELLSPRING_S3_ENDPOINT")]
    s3_endpoint: Option<String>,
    /// Its region [default: us-east-1]
    #[arg(long, value_name = "REGION", env = "WELLSPRING_S3_REGION")]
    s3_region: Option<String>,
    /// The id of the key that it is used with
    #[arg(long, value_name = "ID", env = "WELLSPRING_S3_ACCESS_KEY_ID")]
    s3_access_key_id: Option<String>,
    /// Which buckets tenants may put objects into: `[TENANT@]BUCKET`. Repeatable, or separated by commas; without any, none
    #[arg(long, value_name = "BUCKET", env = "WELLSPRING_S3_BUCKET", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    s3_bucket: Vec<String>,
    /// What tenants share, and what one of them may have of it, such as `runs=512/64`. Repeatable, or separated by commas
    #[arg(
        long_help = shares::help(), long, value_name = "NAME=TOTAL/PER_TENANT", env = "WELLSPRING_SHARE", value_delimiter = ',', value_parser = shares::parse, help_heading = LIMITS)]
    #[serde(skip)]
    share: Vec<(String, String)>,
    /// Events kept for each stream of a source
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_EVENTS", help_heading = LIMITS)]
    keep_events: Option<usize>,
    /// Log lines kept for each source
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_LOGS", help_heading = LIMITS)]
    keep_logs: Option<usize>,
    /// Records of runs kept for each source, workflow and component; 0 keeps none
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_RUNS", help_heading = LIMITS)]
    keep_runs: Option<usize>,
    /// How many seconds those are kept; 0 is without an end
    #[arg(long, value_name = "SECONDS", env = "WELLSPRING_KEEP_RUNS_SECONDS", help_heading = LIMITS)]
    keep_runs_seconds: Option<u64>,
    /// Recordings of runs kept for each account; 0 records nothing
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_RECORDINGS", help_heading = LIMITS)]
    keep_recordings: Option<usize>,
    /// Largest recording of one run; a larger one is not kept
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_RECORDING_BYTES", help_heading = LIMITS)]
    recording_bytes: Option<usize>,
    /// Entries of the audit log kept for each account; ten times as many are kept for the operator
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_AUDIT", help_heading = LIMITS)]
    keep_audit: Option<u32>,
    /// How long entries of the audit log are kept
    #[arg(long, value_name = "DAYS", env = "WELLSPRING_KEEP_AUDIT_DAYS", help_heading = LIMITS)]
    keep_audit_days: Option<u32>,
    /// Largest body an endpoint takes, as sent and decoded
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_BODY_BYTES", help_heading = LIMITS)]
    body_bytes: Option<usize>,
    /// Largest body a component answers with
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_RESPONSE_BYTES", help_heading = LIMITS)]
    response_bytes: Option<usize>,
    /// Largest event a source emits, as JSON; by default large enough for every request that an endpoint takes
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_EVENT_BYTES", help_heading = LIMITS)]
    event_bytes: Option<usize>,
    /// Most events one run may emit
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_EMITS_PER_RUN", help_heading = LIMITS)]
    emits_per_run: Option<usize>,
    /// Most deliveries that one trigger from outside may cause, through all sources and workflows that run each other
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_DELIVERIES_PER_TRIGGER", help_heading = LIMITS)]
    deliveries_per_trigger: Option<usize>,
    /// Channels of one source
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_CHANNELS_PER_SOURCE", help_heading = LIMITS)]
    channels_per_source: Option<usize>,
    /// Longest name of a channel
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_CHANNEL_BYTES", help_heading = LIMITS)]
    channel_bytes: Option<usize>,
    /// How deep the objects and lists of an event may be nested
    #[arg(long, value_name = "LEVELS", env = "WELLSPRING_NESTING_DEPTH", help_heading = LIMITS)]
    nesting_depth: Option<usize>,
    /// Most lines one run may log
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_LOG_LINES_PER_RUN", help_heading = LIMITS)]
    log_lines_per_run: Option<usize>,
    /// Longest line of a log; the rest of a longer one is cut
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_LOG_LINE_BYTES", help_heading = LIMITS)]
    log_line_bytes: Option<usize>,
    /// All lines of one run together
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_LOG_BYTES_PER_RUN", help_heading = LIMITS)]
    log_bytes_per_run: Option<usize>,
    /// Memory of one sandbox
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_MEMORY_BYTES", help_heading = LIMITS)]
    memory_bytes: Option<usize>,
    /// How long a run may take that answers an HTTP request
    #[arg(long, value_name = "MS", env = "WELLSPRING_HTTP_DEADLINE_MS", help_heading = LIMITS)]
    http_deadline_ms: Option<u64>,
    /// How long a run of a timer, and a hook, may take
    #[arg(long, value_name = "MS", env = "WELLSPRING_TIMER_DEADLINE_MS", help_heading = LIMITS)]
    timer_deadline_ms: Option<u64>,
    /// Largest configured value of one prop
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_PROP_VALUE_BYTES", help_heading = LIMITS)]
    prop_value_bytes: Option<usize>,
    /// Longest key of `$.service.db`
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DB_KEY_BYTES", help_heading = LIMITS)]
    db_key_bytes: Option<usize>,
    /// Largest value under one key of `$.service.db`
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DB_VALUE_BYTES", help_heading = LIMITS)]
    db_value_bytes: Option<usize>,
    /// All values of one source in `$.service.db` together
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DB_SOURCE_BYTES", help_heading = LIMITS)]
    db_source_bytes: Option<usize>,
    /// All values of one data store together
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DATA_STORE_BYTES", help_heading = LIMITS)]
    data_store_bytes: Option<usize>,
    /// Shortest interval of a timer
    #[arg(long, value_name = "SECONDS", env = "WELLSPRING_INTERVAL_SECONDS_MINIMUM", help_heading = LIMITS)]
    interval_seconds_minimum: Option<u64>,
    /// How long the receiver of a webhook may take
    #[arg(long, value_name = "MS", env = "WELLSPRING_DELIVERY_TIMEOUT_MS", help_heading = LIMITS)]
    delivery_timeout_ms: Option<u64>,
    /// Compute time a day of new users, in milliseconds
    #[arg(long, value_name = "MS", env = "WELLSPRING_DAILY_COMPUTE_TIME_QUOTA", help_heading = LIMITS)]
    daily_compute_time_quota: Option<u64>,
    /// Invocations a day of new users
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_DAILY_INVOCATIONS_QUOTA", help_heading = LIMITS)]
    daily_invocations_quota: Option<u64>,
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

/// Whom e-mail may go to.
#[derive(clap::ValueEnum, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SmtpRecipients {
    /// The address of the tenant's own account
    Owner,
    /// Everyone
    Any,
}

const LIMITS: &str = "Limits";
const DAY_MS: u64 = 24 * 3600 * 1000;
const EVENT_BYTES: &str = "event_bytes";
const SHARE: &str = "share";

/// What the parts that keep things can hold.
const MAXIMA: [(&str, usize); 4] = [
    (EVENT_BYTES, EVENT_BYTES_MAXIMUM),
    ("channel_bytes", NAME_BYTES_MAXIMUM),
    ("db_key_bytes", NAME_BYTES_MAXIMUM),
    ("nesting_depth", NESTING_MAXIMUM),
];

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
    durability: Durability,
    pub(crate) require_durable: bool,
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
    memory_bytes: usize,
    http_deadline_ms: u64,
    timer_deadline_ms: u64,
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
            shares.extend(tuning.share.iter().map(|(name, share)| (name.clone(), Value::String(share.clone()))));
        }
        decided(table)
    }

    /// The defaults, with everything kept there.
    pub(crate) fn in_folder(data: PathBuf) -> Self {
        Self { data, ..Self::default() }
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            body_bytes: self.body_bytes,
            event_bytes: self.event_bytes,
            emits_per_run: self.emits_per_run,
            deliveries_per_trigger: self.deliveries_per_trigger,
            channels_per_source: self.channels_per_source,
            response_bytes: self.response_bytes,
            channel_bytes: self.channel_bytes,
            nesting_depth: self.nesting_depth,
            log_lines_per_run: self.log_lines_per_run,
            log_line_bytes: self.log_line_bytes,
            log_bytes_per_run: self.log_bytes_per_run,
            db_key_bytes: self.db_key_bytes,
            memory_bytes: self.memory_bytes,
            http_deadline_ms: self.http_deadline_ms,
            timer_deadline_ms: self.timer_deadline_ms,
            prop_value_bytes: self.prop_value_bytes,
            db_value_bytes: self.db_value_bytes,
            db_source_bytes: self.db_source_bytes,
            data_store_bytes: self.data_store_bytes,
            interval_seconds_minimum: self.interval_seconds_minimum,
            events_kept: self.keep_events,
            logs_kept: self.keep_logs,
            runs_kept: self.keep_runs,
            runs_kept_seconds: self.keep_runs_seconds,
            recordings_kept: self.keep_recordings,
            recording_bytes: self.recording_bytes,
            delivery_timeout_ms: self.delivery_timeout_ms,
        }
    }

    /// Whom the credentials of npm's configuration are used for.
    pub(crate) fn credentials(&self) -> Result<Vec<CredentialRule>> {
        let rules = self.npm_credentials.iter().map(|rule| rule.parse());
        rules.collect::<Result<_, _>>().map_err(Misuse::of).context("`npm_credentials` cannot be used")
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget::new(self.memory)
    }

    pub(crate) fn audit(&self) -> AuditLimits {
        AuditLimits {
            entries_per_account: self.keep_audit,
            entries_of_all: self.keep_audit.saturating_mul(10),
            age_ms: u64::from(self.keep_audit_days).saturating_mul(DAY_MS),
        }
    }

    pub(crate) fn quotas(&self) -> Quotas {
        Quotas { daily_compute_ms: self.daily_compute_time_quota, daily_invocations: self.daily_invocations_quota }
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

impl Default for Settings {
    fn default() -> Self {
        let (limits, quotas) = (Limits::default(), Quotas::default());
        Self {
            data: ".wellspring".into(),
            store: None,
            store_prefix: sharing::PREFIX.to_owned(),
            store_ca: None,
            store_cert: None,
            store_key: None,
            durability: Durability::Disk,
            require_durable: false,
            store_timeout_ms: sharing::STORE_TIMEOUT_MS,
            drain_seconds: None,
            takeover_seconds: sharing::TAKEOVER_SECONDS,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7717)),
            public_url: None,
            wildcard_domain: None,
            trusted_proxy: Vec::new(),
            egress_allow: Vec::new(),
            egress_deny: Vec::new(),
            egress_allow_self: false,
            npm_credentials: Vec::new(),
            share: Shares::default().decided(),
            accept_after_ms: platform::flow::Config::default().grace_ms,
            isolate: Isolate::None,
            isolate_groups: None,
            memory: None,
            log_format: LogFormat::Text,
            otlp_endpoint: None,
            smtp_url: None,
            smtp_from: None,
            smtp_recipients: SmtpRecipients::Owner,
            s3_endpoint: None,
            s3_region: "us-east-1".to_owned(),
            s3_access_key_id: None,
            s3_bucket: Vec::new(),
            keep_events: limits.events_kept,
            keep_logs: limits.logs_kept,
            keep_runs: limits.runs_kept,
            keep_runs_seconds: limits.runs_kept_seconds,
            keep_recordings: limits.recordings_kept,
            recording_bytes: limits.recording_bytes,
            keep_audit: AuditLimits::default().entries_per_account,
            keep_audit_days: u32::try_from(AuditLimits::default().age_ms / DAY_MS).unwrap_or(u32::MAX),
            body_bytes: limits.body_bytes,
            event_bytes: limits.event_bytes,
            emits_per_run: limits.emits_per_run,
            deliveries_per_trigger: limits.deliveries_per_trigger,
            channels_per_source: limits.channels_per_source,
            response_bytes: limits.response_bytes,
            channel_bytes: limits.channel_bytes,
            nesting_depth: limits.nesting_depth,
            log_lines_per_run: limits.log_lines_per_run,
            log_line_bytes: limits.log_line_bytes,
            log_bytes_per_run: limits.log_bytes_per_run,
            db_key_bytes: limits.db_key_bytes,
            memory_bytes: limits.memory_bytes,
            http_deadline_ms: limits.http_deadline_ms,
            timer_deadline_ms: limits.timer_deadline_ms,
            prop_value_bytes: limits.prop_value_bytes,
            db_value_bytes: limits.db_value_bytes,
            db_source_bytes: limits.db_source_bytes,
            data_store_bytes: limits.data_store_bytes,
            interval_seconds_minimum: limits.interval_seconds_minimum,
            delivery_timeout_ms: limits.delivery_timeout_ms,
            daily_compute_time_quota: quotas.daily_compute_ms,
            daily_invocations_quota: quotas.daily_invocations,
        }
    }
}

fn read(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the settings {}", path.display()))?;
    text.parse().with_context(|| format!("the settings in {} are not TOML", path.display()))
}

fn decided(mut table: Table) -> Result<Settings> {
    let body_bytes = table.get("body_bytes").and_then(Value::as_integer).and_then(|bytes| usize::try_from(bytes).ok());
    if let (Some(body_bytes), false) = (body_bytes, table.contains_key(EVENT_BYTES)) {
        let event_bytes = i64::try_from(event_bytes_for(body_bytes))?;
        table.insert(EVENT_BYTES.to_owned(), Value::Integer(event_bytes));
    }
    for (name, maximum) in MAXIMA {
        if table.get(name).and_then(Value::as_integer).is_some_and(|number| number > maximum as i64) {
            bail!("`{name}` must be at most {maximum}");
        }
    }
    if table.get("memory").and_then(Value::as_integer).is_some_and(|bytes| bytes < memory::LEAST_BYTES as i64) {
        bail!("`memory` must be at least {}", memory::LEAST_BYTES);
    }
    let takeover = table.get("takeover_seconds").and_then(Value::as_integer);
    if takeover.is_some_and(|seconds| seconds < sharing::TAKEOVER_SECONDS_LEAST as i64) {
        bail!("`takeover_seconds` must be at least {}", sharing::TAKEOVER_SECONDS_LEAST);
    }
    let may_be_zero = |name: &str| {
        name.ends_with("_quota")
            || ["keep_runs", "keep_runs_seconds", "keep_recordings", "drain_seconds"].contains(&name)
    };
    for (name, value) in &table {
        if value.as_integer().is_some_and(|number| number < 1 && !(number == 0 && may_be_zero(name))) {
            bail!("`{name}` must be at least {}", if may_be_zero(name) { 0 } else { 1 });
        }
    }
    let settings: Settings = table.try_into()?;
    settings.share.check().map_err(anyhow::Error::msg)?;
    Ok(settings)
}

/// `redis://user:secret@host` without the secret.
pub(crate) fn without_password(address: &str) -> String {
    let parts = address.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)));
    parts.map_or_else(|| address.to_owned(), |(scheme, host)| format!("{scheme}://…@{host}"))
}

#[cfg(test)]
mod tests;
