//! Settings that bound what tenants may use and what is kept for them.

use domain::limits::Limits;
use domain::users::Quotas;
use platform::manage::audit::AuditLimits;
use serde::Serialize;

use super::{Settings, shares};

const HEADING: &str = "Limits";
pub(super) const DAY_MS: u64 = 24 * 3600 * 1000;

/// Under a heading of their own in the help.
#[derive(clap::Args, Serialize, Clone, Debug, Default)]
pub(crate) struct LimitFlags {
    /// What tenants share, and what one of them may have of it, such as `runs=512/64`. Repeatable, or separated by commas
    #[arg(
        long_help = shares::help(), long, value_name = "NAME=TOTAL/PER_TENANT", env = "WELLSPRING_SHARE", value_delimiter = ',', value_parser = shares::parse, help_heading = HEADING)]
    #[serde(skip)]
    pub(super) share: Vec<(String, String)>,
    /// Events kept for each stream of a source
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_EVENTS", help_heading = HEADING)]
    pub(super) keep_events: Option<usize>,
    /// Log lines kept for each source
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_LOGS", help_heading = HEADING)]
    keep_logs: Option<usize>,
    /// Records of runs kept for each source, workflow and component; 0 keeps none
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_RUNS", help_heading = HEADING)]
    keep_runs: Option<usize>,
    /// How many seconds those are kept; 0 is without an end
    #[arg(long, value_name = "SECONDS", env = "WELLSPRING_KEEP_RUNS_SECONDS", help_heading = HEADING)]
    keep_runs_seconds: Option<u64>,
    /// Recordings of runs kept for each account; 0 records nothing
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_RECORDINGS", help_heading = HEADING)]
    keep_recordings: Option<usize>,
    /// Largest recording of one run; a larger one is not kept
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_RECORDING_BYTES", help_heading = HEADING)]
    recording_bytes: Option<usize>,
    /// Entries of the audit log kept for each account; ten times as many are kept for the operator
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_KEEP_AUDIT", help_heading = HEADING)]
    keep_audit: Option<u32>,
    /// How long entries of the audit log are kept
    #[arg(long, value_name = "DAYS", env = "WELLSPRING_KEEP_AUDIT_DAYS", help_heading = HEADING)]
    keep_audit_days: Option<u32>,
    /// Largest body an endpoint takes, as sent and decoded
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_BODY_BYTES", help_heading = HEADING)]
    body_bytes: Option<usize>,
    /// Largest body a component answers with
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_RESPONSE_BYTES", help_heading = HEADING)]
    response_bytes: Option<usize>,
    /// Largest event a source emits, as JSON; by default large enough for every request that an endpoint takes
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_EVENT_BYTES", help_heading = HEADING)]
    event_bytes: Option<usize>,
    /// Most events one run may emit
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_EMITS_PER_RUN", help_heading = HEADING)]
    emits_per_run: Option<usize>,
    /// Most deliveries that one trigger from outside may cause, through all sources and workflows that run each other
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_DELIVERIES_PER_TRIGGER", help_heading = HEADING)]
    deliveries_per_trigger: Option<usize>,
    /// Channels of one source
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_CHANNELS_PER_SOURCE", help_heading = HEADING)]
    channels_per_source: Option<usize>,
    /// Longest name of a channel
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_CHANNEL_BYTES", help_heading = HEADING)]
    channel_bytes: Option<usize>,
    /// How deep the objects and lists of an event may be nested
    #[arg(long, value_name = "LEVELS", env = "WELLSPRING_NESTING_DEPTH", help_heading = HEADING)]
    nesting_depth: Option<usize>,
    /// Most lines one run may log
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_LOG_LINES_PER_RUN", help_heading = HEADING)]
    log_lines_per_run: Option<usize>,
    /// Longest line of a log; the rest of a longer one is cut
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_LOG_LINE_BYTES", help_heading = HEADING)]
    log_line_bytes: Option<usize>,
    /// All lines of one run together
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_LOG_BYTES_PER_RUN", help_heading = HEADING)]
    log_bytes_per_run: Option<usize>,
    /// Memory of one sandbox
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_MEMORY_BYTES", help_heading = HEADING)]
    memory_bytes: Option<usize>,
    /// How long a run may take that answers an HTTP request
    #[arg(long, value_name = "MS", env = "WELLSPRING_HTTP_DEADLINE_MS", help_heading = HEADING)]
    http_deadline_ms: Option<u64>,
    /// How long a run of a timer, and a hook, may take
    #[arg(long, value_name = "MS", env = "WELLSPRING_TIMER_DEADLINE_MS", help_heading = HEADING)]
    timer_deadline_ms: Option<u64>,
    /// How much one run may compute: about a thousand million units for each second of processor time [default: what its deadline leaves room for]
    #[arg(long, value_name = "UNITS", env = "WELLSPRING_FUEL_PER_RUN", help_heading = HEADING)]
    fuel_per_run: Option<u64>,
    /// Largest configured value of one prop
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_PROP_VALUE_BYTES", help_heading = HEADING)]
    prop_value_bytes: Option<usize>,
    /// Longest key of `$.service.db`
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DB_KEY_BYTES", help_heading = HEADING)]
    db_key_bytes: Option<usize>,
    /// Largest value under one key of `$.service.db`
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DB_VALUE_BYTES", help_heading = HEADING)]
    db_value_bytes: Option<usize>,
    /// All values of one source in `$.service.db` together
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DB_SOURCE_BYTES", help_heading = HEADING)]
    db_source_bytes: Option<usize>,
    /// All values of one data store together
    #[arg(long, value_name = "BYTES", env = "WELLSPRING_DATA_STORE_BYTES", help_heading = HEADING)]
    data_store_bytes: Option<usize>,
    /// Shortest interval of a timer
    #[arg(long, value_name = "SECONDS", env = "WELLSPRING_INTERVAL_SECONDS_MINIMUM", help_heading = HEADING)]
    interval_seconds_minimum: Option<u64>,
    /// How long the receiver of a webhook may take
    #[arg(long, value_name = "MS", env = "WELLSPRING_DELIVERY_TIMEOUT_MS", help_heading = HEADING)]
    delivery_timeout_ms: Option<u64>,
    /// Compute time a day of new users, in milliseconds
    #[arg(long, value_name = "MS", env = "WELLSPRING_DAILY_COMPUTE_TIME_QUOTA", help_heading = HEADING)]
    daily_compute_time_quota: Option<u64>,
    /// Invocations a day of new users
    #[arg(long, value_name = "COUNT", env = "WELLSPRING_DAILY_INVOCATIONS_QUOTA", help_heading = HEADING)]
    daily_invocations_quota: Option<u64>,
}

impl Settings {
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
            fuel_per_run: self.fuel_per_run,
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
}
