//! A five-field cron expression in an IANA zone, right across daylight saving.
//!
//! `croner` reads the pattern and finds matching wall-clock minutes on a calendar without zones; this file lays the
//! zone over it. Neither `croner` nor `cron-parser` is used for that second half, because measured on real
//! transitions both go wrong: `cron-parser` loses a daily job that falls in a gap and runs it twice in an overlap;
//! `croner` fires `30 1 * * *` a second time at the gap in New York and finds nothing after the day Samoa skipped.
//!
//! The rule is Vixie cron's. An expression whose minute or hour starts with `*` follows the wall clock: minutes inside
//! a gap do not exist, minutes of an overlap come twice. Any other one names times of day, and each runs exactly once:
//! at the end of the gap that swallowed it, or in the first pass of an overlap.

use croner::Weekday;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, Zoned};

/// Longer than any expression a person writes; keeps the stored schedule and the messages about it small.
pub(super) const EXPRESSION_BYTES_MAXIMUM: usize = 200;

#[derive(Clone, Debug, PartialEq)]
pub struct Cron {
    expression: String,
    timezone: Option<String>,
    pattern: croner::Cron,
    zone: TimeZone,
    follows_wall_clock: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    #[error("a cron expression has five fields (minute hour day month weekday), this one has {count}")]
    FieldCount { count: usize },
    #[error("a cron expression is at most {EXPRESSION_BYTES_MAXIMUM} bytes long, this one has {size_bytes}")]
    TooLong { size_bytes: usize },
    #[error("`{expression}` is not a cron expression: {reason}")]
    Pattern { expression: String, reason: String },
    #[error("`{expression}` never fires: there is no such date")]
    Never { expression: String },
    #[error("unknown time zone `{name}`; use an IANA name, such as Europe/Berlin")]
    UnknownZone { name: String },
}

// === impl Cron ===

impl Cron {
    /// UTC unless a zone is named.
    pub fn parse(expression: &str, timezone: Option<&str>) -> Result<Self, CronError> {
        if expression.len() > EXPRESSION_BYTES_MAXIMUM {
            return Err(CronError::TooLong { size_bytes: expression.len() });
        }
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let [minute, hour, _, _, _] = fields.as_slice() else {
            return Err(CronError::FieldCount { count: fields.len() });
        };
        let follows_wall_clock = minute.starts_with('*') || hour.starts_with('*');
        let expression = fields.join(" ");
        let pattern = parse_pattern(&expression)?;
        let zone = match timezone {
            None => TimeZone::UTC,
            Some(name) => {
                TimeZone::get(name).map_err(|_| CronError::UnknownZone { name: name.chars().take(64).collect() })?
            }
        };
        // 30 February parses. Told here, at the only moment a user can act on it.
        if !has_any_day(&pattern) {
            return Err(CronError::Never { expression });
        }
        let timezone = timezone.map(str::to_owned);
        Ok(Self { expression, timezone, pattern, zone, follows_wall_clock })
    }

    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The zone as it was given; none means UTC.
    pub fn timezone(&self) -> Option<&str> {
        self.timezone.as_deref()
    }

    /// The first tick strictly after an instant; none when the calendar has no more.
    pub fn next_after(&self, now_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(now_ms).ok()?;
        let next = if self.follows_wall_clock { self.next_wall_clock(now) } else { self.next_time_of_day(now) };
        next.map(Timestamp::as_millisecond)
    }

    /// Walks the stretches of constant offset: within one, wall clock and instant differ by a constant.
    fn next_wall_clock(&self, now: Timestamp) -> Option<Timestamp> {
        let mut offset = self.zone.to_offset(now);
        let mut earliest = minute_after(offset.to_datetime(now))?;
        let mut changes = self.zone.following(now);
        loop {
            let candidate = offset.to_timestamp(self.civil_from(earliest)?).ok();
            let Some(change) = changes.next() else {
                return candidate;
            };
            if candidate.is_some_and(|instant| instant < change.timestamp()) {
                return candidate;
            }
            offset = change.offset();
            earliest = minute_from(offset.to_datetime(change.timestamp()))?;
        }
    }

    /// The instant of a wall-clock time never runs backwards as the time grows, so the first one past now is the next.
    fn next_time_of_day(&self, now: Timestamp) -> Option<Timestamp> {
        let mut earliest = minute_of(self.zone.to_datetime(now))?;
        loop {
            let civil = self.civil_from(earliest)?;
            let instant = self.instant_of(civil)?;
            if instant > now {
                return Some(instant);
            }
            earliest = minute_after(civil)?;
        }
    }

    fn instant_of(&self, civil: DateTime) -> Option<Timestamp> {
        match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
            AmbiguousOffset::Gap { after, .. } => self.end_of_gap(civil, after),
        }
    }

    /// Read with the later offset the missing time lies before the change, so the change is the next one from there.
    fn end_of_gap(&self, civil: DateTime, after: Offset) -> Option<Timestamp> {
        let before_the_change = after.to_timestamp(civil).ok()?;
        self.zone.following(before_the_change).next().map(|change| change.timestamp())
    }

    /// The first matching wall-clock minute at or after `earliest`. UTC stands in for a calendar without zones.
    fn civil_from(&self, earliest: DateTime) -> Option<DateTime> {
        let calendar: Zoned = earliest.to_zoned(TimeZone::UTC).ok()?;
        self.pattern.find_next_occurrence(&calendar, true).ok().map(|found| found.datetime())
    }
}

fn parse_pattern(expression: &str) -> Result<croner::Cron, CronError> {
    CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build()
        .parse(expression)
        .map_err(|error| CronError::Pattern { expression: expression.to_owned(), reason: error.to_string() })
}

/// Whether any date matches. Dates and weekdays repeat every 28 years between centuries, so 28 years are all there is
/// to see; `croner` would search on to the year 5000, a tenth of a second that a component full of such timers repeats.
fn has_any_day(pattern: &croner::Cron) -> bool {
    let pattern = &pattern.pattern;
    let is_match = |date: Date| {
        let (month, day) = (u32::from(date.month().unsigned_abs()), u32::from(date.day().unsigned_abs()));
        let weekday = Weekday::from_days_from_sunday(u32::from(date.weekday().to_sunday_zero_offset().unsigned_abs()));
        pattern.month_match(month).unwrap_or(false)
            && pattern.day_match(i32::from(date.year()), month, day, weekday).unwrap_or(false)
    };
    let days = 28 * 365 + 7;
    Date::constant(2000, 1, 1).series(jiff::Span::new().days(1)).take(days).any(is_match)
}

/// The minute this time lies in.
fn minute_of(civil: DateTime) -> Option<DateTime> {
    civil.with().second(0).subsec_nanosecond(0).build().ok()
}

/// The first full minute after this time.
fn minute_after(civil: DateTime) -> Option<DateTime> {
    minute_of(civil)?.checked_add(jiff::Span::new().minutes(1)).ok()
}

/// The first full minute at or after this time; historical offsets have seconds.
fn minute_from(civil: DateTime) -> Option<DateTime> {
    let floor = minute_of(civil)?;
    if floor == civil { Some(floor) } else { minute_after(civil) }
}

#[cfg(test)]
mod tests;
