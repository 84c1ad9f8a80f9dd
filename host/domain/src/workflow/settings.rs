//! The settings of a workflow, with their defaults and bounds.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::raw::Fields;
use crate::runs::RecordingMode;

/// The longest that a run may be at work between two pauses.
const TIMEOUT_SECONDS_MAXIMUM: i64 = 750;
const TIMEOUT_SECONDS_DEFAULT: u64 = 60;
const CONCURRENCY_MAXIMUM: i64 = 64;
const QUEUE_SIZE_MAXIMUM: i64 = 100_000;
const QUEUE_SIZE_DEFAULT: u64 = 10_000;
const NAME_BYTES: usize = 256;
/// A failed step is tried this many times again, the last time about ten hours after the first.
pub(crate) const RETRIES_MAXIMUM: u32 = 8;
const FIRST_RETRY_MS: u64 = 140_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub name: String,
    /// Whether it is active once it is created.
    pub auto_deploy: bool,
    /// Runs at once; without a bound when none. One keeps the order of events.
    pub concurrency: Option<u32>,
    pub throttle: Option<Throttle>,
    /// Runs that wait for their turn; events beyond them are dropped, with an error event.
    pub queue_size: u64,
    pub auto_retry: bool,
    pub timeout_seconds: u64,
    pub retention: Retention,
    /// Which of its steps are recorded, so that they can be replayed.
    pub recording: RecordingMode,
}

/// At most `limit` runs begin in `interval_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    pub limit: u32,
    pub interval_seconds: u32,
}

/// What is kept of runs that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retention {
    #[default]
    Default,
    /// Nothing: neither events nor exports.
    None,
}

// === impl Settings ===

impl Settings {
    /// When a step that has failed `tries` times is run again.
    pub fn retry_delay_ms(&self, tries: u32) -> Option<u64> {
        (self.auto_retry && tries <= RETRIES_MAXIMUM).then(|| FIRST_RETRY_MS << (tries.saturating_sub(1).min(20)))
    }

    /// Whether runs take turns.
    pub fn queues(&self) -> bool {
        self.concurrency.is_some() || self.throttle.is_some()
    }

    pub(super) fn parse(fields: &mut Fields<'_>) -> Self {
        let name = fields.text("name").unwrap_or_default();
        if name.len() > NAME_BYTES {
            fields.problem("name", format!("has at most {NAME_BYTES} bytes"));
        }
        let auto_deploy = !fields.has("auto_deploy") || fields.flag("auto_deploy");
        let concurrency = bounded(fields, "concurrency", 1..=CONCURRENCY_MAXIMUM).and_then(|n| u32::try_from(n).ok());
        let throttle = throttle(fields);
        let queue_size = bounded(fields, "queue_size", 1..=QUEUE_SIZE_MAXIMUM).unwrap_or(QUEUE_SIZE_DEFAULT);
        let auto_retry = fields.flag("auto_retry");
        let timeout_seconds =
            bounded(fields, "timeout_seconds", 1..=TIMEOUT_SECONDS_MAXIMUM).unwrap_or(TIMEOUT_SECONDS_DEFAULT);
        let retention = match fields.text("retention").as_deref() {
            None | Some("default") => Retention::Default,
            Some("none") => Retention::None,
            Some(_) => {
                fields.problem("retention", "must be `default` or `none`");
                Retention::Default
            }
        };
        let recording = match fields.text("recording").as_deref().map(RecordingMode::parse) {
            None => RecordingMode::default(),
            Some(Ok(mode)) => mode,
            Some(Err(error)) => {
                fields.problem("recording", error.to_string());
                RecordingMode::default()
            }
        };
        Self { name, auto_deploy, concurrency, throttle, queue_size, auto_retry, timeout_seconds, retention, recording }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            auto_deploy: true,
            concurrency: None,
            throttle: None,
            queue_size: QUEUE_SIZE_DEFAULT,
            auto_retry: false,
            timeout_seconds: TIMEOUT_SECONDS_DEFAULT,
            retention: Retention::Default,
            recording: RecordingMode::default(),
        }
    }
}

fn throttle(fields: &mut Fields<'_>) -> Option<Throttle> {
    let Value::Object(object) = fields.take("throttle")? else {
        fields.problem("throttle", "must be {limit, interval_seconds}");
        return None;
    };
    let path = "settings.throttle";
    let mut inner = Fields::new(path, object, fields.problems());
    let limit = bounded(&mut inner, "limit", 1..=1_000_000);
    let interval = bounded(&mut inner, "interval_seconds", 1..=86_400);
    if limit.is_none() || interval.is_none() {
        inner.problem("", "needs a limit and interval_seconds");
    }
    let number = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
    Some(Throttle { limit: number(limit)?, interval_seconds: number(interval)? })
}

pub(super) fn bounded(fields: &mut Fields<'_>, name: &str, range: std::ops::RangeInclusive<i64>) -> Option<u64> {
    let number = fields.integer(name)?;
    if !range.contains(&number) {
        fields.problem(name, format!("must be from {} to {}", range.start(), range.end()));
        return None;
    }
    u64::try_from(number).ok()
}
