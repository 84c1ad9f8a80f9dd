//! What a setting is when it is not given.

use std::net::{Ipv4Addr, SocketAddr};

use domain::limits::Limits;
use domain::users::Quotas;
use platform::manage::audit::AuditLimits;

use super::limits::DAY_MS;
use super::sharing::{self, Durability};
use super::{Isolate, Settings, Shares, SmtpRecipients};
use crate::logging::LogFormat;

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
            store_layout: None,
            durability: Durability::Disk,
            require_durable: false,
            read_only: false,
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
            fuel_per_run: limits.fuel_per_run,
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
