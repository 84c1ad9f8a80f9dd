//! Times as people read them: in their own zone.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

fn local(epoch_ms: i64) -> Option<Zoned> {
    Some(Timestamp::from_millisecond(epoch_ms).ok()?.to_zoned(TimeZone::system()))
}

/// `14:03:27`, for lines that follow each other.
pub fn clock_time(epoch_ms: i64) -> String {
    local(epoch_ms).map_or_else(String::new, |at| at.strftime("%H:%M:%S").to_string())
}

/// `2026-11-15 14:03:27`
pub fn full_time(epoch_seconds: i64) -> String {
    let at = local(epoch_seconds.saturating_mul(1000));
    at.map_or_else(String::new, |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// `2026-11-15`, the same in every zone: periods begin and end with days in UTC.
pub fn utc_day(epoch_seconds: i64) -> String {
    Timestamp::from_second(epoch_seconds).map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d").to_string())
}

/// `3 min ago`, coarse on purpose: lists are for an overview.
pub fn ago(epoch_seconds: i64) -> String {
    since(Timestamp::now().as_second().saturating_sub(epoch_seconds))
}

fn since(seconds: i64) -> String {
    match seconds {
        ..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_that_of_utc() {
        assert_eq!((utc_day(86_399).as_str(), utc_day(86_400).as_str()), ("1970-01-01", "1970-01-02"));
    }

    #[test]
    fn ages_are_given_in_the_largest_unit_that_fits() {
        let cases = [
            (-5, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (3599, "59 min ago"),
            (3600, "1 h ago"),
            (86_400, "1 d ago"),
        ];

        for (seconds, expected) in cases {
            assert_eq!(since(seconds), expected);
        }
    }

    #[test]
    fn a_time_that_no_calendar_holds_is_left_out() {
        assert_eq!(clock_time(i64::MAX), "");
    }
}
