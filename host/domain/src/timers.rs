//! Schedules of timers: an interval, or a cron expression in a time zone.
//!
//! A schedule is parsed once and answers "when next?" for any instant it is given; it holds no clock. Ticks that
//! were missed while the platform was down run once: `following` looks ahead from now, not from the tick it lost.

mod cron;

use serde_json::{Map, Value, json};

pub use cron::{Cron, CronError};

/// A unit slip (milliseconds for seconds) or an overflow hides behind anything longer than ten years.
pub const INTERVAL_SECONDS_MAXIMUM: u64 = 10 * 366 * 24 * 3600;

#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    Interval { seconds: u64 },
    Cron(Box<Cron>),
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    #[error("a timer is {{intervalSeconds}}, {{cron}} or {{cron, timezone}}")]
    NotAnObject,
    #[error("needs intervalSeconds or cron")]
    NoSchedule,
    #[error("has both an interval and a cron expression, choose one")]
    TwoSchedules,
    /// `name` is the one it was given under.
    #[error("{name} must be a whole number of seconds from {minimum} to {INTERVAL_SECONDS_MAXIMUM}")]
    IntervalOutOfRange { name: &'static str, minimum: u64 },
    #[error("cron must be a string of five fields")]
    CronNotAString,
    #[error("timezone must be the name of an IANA zone, such as Europe/Berlin")]
    TimezoneNotAString,
    #[error("timezone only goes with cron")]
    TimezoneWithInterval,
    #[error("unknown property `{name}`")]
    UnknownProperty { name: String },
    #[error(transparent)]
    Cron(#[from] CronError),
}

// === impl Schedule ===

impl Schedule {
    /// Reads what a component or a user wrote, and also the form the API returns (`{cron, interval_seconds}` with one
    /// of the two null), so that a source's own `configured_props` can be sent back.
    pub fn parse(value: &Value, interval_seconds_minimum: u64) -> Result<Self, ScheduleError> {
        let fields = value.as_object().ok_or(ScheduleError::NotAnObject)?;
        const KNOWN: [&str; 4] = ["intervalSeconds", "interval_seconds", "cron", "timezone"];
        if let Some(name) = fields.keys().find(|name| !KNOWN.contains(&name.as_str())) {
            return Err(ScheduleError::UnknownProperty { name: name.clone() });
        }
        let interval =
            ["intervalSeconds", "interval_seconds"].into_iter().find_map(|name| Some((name, given(fields, name)?)));
        let timezone = given(fields, "timezone");
        match (interval, given(fields, "cron")) {
            (None, None) => Err(ScheduleError::NoSchedule),
            (Some(_), Some(_)) => Err(ScheduleError::TwoSchedules),
            (Some(_), None) if timezone.is_some() => Err(ScheduleError::TimezoneWithInterval),
            (Some(interval), None) => parse_interval(interval, interval_seconds_minimum),
            (None, Some(expression)) => parse_cron(expression, timezone),
        }
    }

    /// The first tick strictly after an instant. For an interval that is one interval later: the rule for activation.
    /// `None` only past the calendar's end.
    pub fn next_after(&self, now_ms: i64) -> Option<i64> {
        match self {
            Self::Interval { seconds } => now_ms.checked_add(interval_ms(*seconds)),
            Self::Cron(cron) => cron.next_after(now_ms),
        }
    }

    /// The tick that follows one that was due at `due_ms` and is being handled at `now_ms`. An interval keeps to its
    /// own grid instead of drifting by the delay of each run; ticks missed in between are passed over.
    pub fn following(&self, due_ms: i64, now_ms: i64) -> Option<i64> {
        let Self::Interval { seconds } = self else {
            return self.next_after(due_ms.max(now_ms));
        };
        let interval_ms = interval_ms(*seconds);
        let intervals_behind = now_ms.saturating_sub(due_ms).max(0) / interval_ms;
        due_ms.checked_add(interval_ms.checked_mul(intervals_behind.checked_add(1)?)?)
    }

    /// What `run` receives: the instant in epoch seconds and the configured interval or expression.
    pub fn event(&self, tick_ms: i64) -> Value {
        let timestamp = tick_ms.div_euclid(1000);
        match self {
            Self::Interval { seconds } => {
                json!({"timestamp": timestamp, "interval_seconds": seconds})
            }
            Self::Cron(cron) => json!({"timestamp": timestamp, "cron": cron.expression()}),
        }
    }

    /// The form the API returns in `configured_props`; `timezone` appears only when one was given.
    pub fn to_configured(&self) -> Value {
        match self {
            Self::Interval { seconds } => json!({"cron": null, "interval_seconds": seconds}),
            Self::Cron(cron) => {
                let mut fields = Map::new();
                fields.insert("cron".to_owned(), cron.expression().into());
                fields.insert("interval_seconds".to_owned(), Value::Null);
                if let Some(timezone) = cron.timezone() {
                    fields.insert("timezone".to_owned(), timezone.into());
                }
                Value::Object(fields)
            }
        }
    }
}

// === impl ScheduleError ===

impl ScheduleError {
    /// The property at fault, below the timer's own path; empty for the timer as a whole.
    pub fn property(&self) -> &str {
        match self {
            Self::NotAnObject | Self::NoSchedule | Self::TwoSchedules => "",
            Self::IntervalOutOfRange { name, .. } => name,
            Self::TimezoneNotAString | Self::TimezoneWithInterval => "timezone",
            Self::Cron(CronError::UnknownZone { .. }) => "timezone",
            Self::CronNotAString | Self::Cron(_) => "cron",
            Self::UnknownProperty { name } => name,
        }
    }
}

fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn parse_interval((name, value): (&'static str, &Value), minimum: u64) -> Result<Schedule, ScheduleError> {
    // JavaScript has one number type: 900.0 is the integer 900.
    let seconds = value.as_u64().or_else(|| value.as_f64().filter(|number| number.fract() == 0.0).map(|n| n as u64));
    match seconds {
        // An interval of zero would never advance, whatever an operator set as the minimum.
        Some(seconds) if seconds >= minimum.max(1) && seconds <= INTERVAL_SECONDS_MAXIMUM => {
            Ok(Schedule::Interval { seconds })
        }
        _ => Err(ScheduleError::IntervalOutOfRange { name, minimum: minimum.max(1) }),
    }
}

fn parse_cron(expression: &Value, timezone: Option<&Value>) -> Result<Schedule, ScheduleError> {
    let expression = expression.as_str().ok_or(ScheduleError::CronNotAString)?;
    let timezone = timezone.map(|name| name.as_str().ok_or(ScheduleError::TimezoneNotAString)).transpose()?;
    Ok(Schedule::Cron(Box::new(Cron::parse(expression, timezone)?)))
}

fn interval_ms(seconds: u64) -> i64 {
    // Parsing bounds the seconds, so neither step saturates; a hand-made schedule cannot make it panic either.
    i64::try_from(seconds.max(1)).unwrap_or(i64::MAX).saturating_mul(1000)
}

#[cfg(test)]
mod tests;
