//! Daylight saving in four zones, and a naive model that walks every minute.

use proptest::prelude::*;

use super::*;

/// Ticks of `expression` in `zone` after a wall-clock time, written with their offsets.
fn ticks(zone: &str, expression: &str, after: &str, count: usize) -> Vec<String> {
    let cron = Cron::parse(expression, Some(zone)).unwrap();
    let start: DateTime = after.parse().unwrap();
    let mut now_ms = start.to_zoned(cron.zone.clone()).unwrap().timestamp().as_millisecond();
    let mut ticks = Vec::new();
    for _ in 0..count {
        now_ms = cron.next_after(now_ms).unwrap();
        let zoned = Timestamp::from_millisecond(now_ms).unwrap().to_zoned(cron.zone.clone());
        ticks.push(zoned.strftime("%m-%dT%H:%M%z").to_string());
    }
    ticks
}

#[test]
fn a_time_of_day_inside_a_gap_runs_once_at_its_end() {
    let cases = [
        ("America/New_York", "30 2 * * *", "2026-03-07T12:00", ["03-08T03:00-0400", "03-09T02:30-0400"]),
        ("Europe/Berlin", "15 2 * * *", "2026-03-28T12:00", ["03-29T03:00+0200", "03-30T02:15+0200"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00", ["10-04T02:30+1100", "10-05T02:15+1100"]),
        ("America/Santiago", "30 0 * * *", "2026-09-05T12:00", ["09-06T01:00-0300", "09-07T00:30-0300"]),
        ("Pacific/Apia", "0 12 * * *", "2011-12-29T13:00", ["12-31T00:00+1400", "12-31T12:00+1400"]),
    ];

    for (zone, expression, after, expected) in cases {
        assert_eq!(ticks(zone, expression, after, 2), expected, "{zone} {expression}");
    }
}

#[test]
fn a_time_of_day_inside_an_overlap_runs_once_in_its_first_pass() {
    let cases = [
        ("America/New_York", "30 1 * * *", "2026-10-31T12:00", ["11-01T01:30-0400", "11-02T01:30-0500"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", ["10-25T02:30+0200", "10-26T02:30+0100"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00", ["04-05T01:45+1100", "04-06T01:45+1030"]),
        ("America/Santiago", "30 23 * * *", "2026-04-04T12:00", ["04-04T23:30-0300", "04-05T23:30-0400"]),
    ];

    for (zone, expression, after, expected) in cases {
        assert_eq!(ticks(zone, expression, after, 2), expected, "{zone} {expression}");
    }
}

#[test]
fn a_time_of_day_outside_a_gap_is_not_run_again_by_it() {
    let expected = ["03-08T01:30-0500", "03-09T01:30-0400"];

    assert_eq!(ticks("America/New_York", "30 1 * * *", "2026-03-07T12:00", 2), expected);
}

#[test]
fn a_wall_clock_expression_skips_a_gap() {
    let cases = [
        ("America/New_York", "2026-03-08T01:10", ["03-08T01:30-0500", "03-08T03:00-0400"]),
        ("Europe/Berlin", "2026-03-29T01:10", ["03-29T01:30+0100", "03-29T03:00+0200"]),
        ("Australia/Lord_Howe", "2026-10-04T01:10", ["10-04T01:30+1030", "10-04T02:30+1100"]),
        ("America/Santiago", "2026-09-05T23:10", ["09-05T23:30-0400", "09-06T01:00-0300"]),
    ];

    for (zone, after, expected) in cases {
        assert_eq!(ticks(zone, "*/30 * * * *", after, 2), expected, "{zone}");
    }
}

#[test]
fn a_wall_clock_expression_runs_in_both_passes_of_an_overlap() {
    let cases = [
        ("America/New_York", "2026-11-01T01:10", ["11-01T01:30-0400", "11-01T01:00-0500"]),
        ("Europe/Berlin", "2026-10-25T02:10", ["10-25T02:30+0200", "10-25T02:00+0100"]),
        ("Australia/Lord_Howe", "2026-04-05T01:10", ["04-05T01:30+1100", "04-05T01:30+1030"]),
        ("America/Santiago", "2026-04-04T23:10", ["04-04T23:30-0300", "04-04T23:00-0400"]),
    ];

    for (zone, after, expected) in cases {
        assert_eq!(ticks(zone, "*/30 * * * *", after, 2), expected, "{zone}");
    }
}

#[test]
fn cron_runs_in_utc_unless_a_zone_is_given() {
    let cron = Cron::parse("0 9 * * 1", None).unwrap();

    let next = Timestamp::from_millisecond(cron.next_after(0).unwrap()).unwrap();

    assert_eq!(next.to_string(), "1970-01-05T09:00:00Z");
}

#[test]
fn what_is_not_a_five_field_expression_is_refused() {
    let field_count = |count| CronError::FieldCount { count };
    assert_eq!(Cron::parse("* * * *", None), Err(field_count(4)));
    assert_eq!(Cron::parse("0 * * * * *", None), Err(field_count(6)));
    assert_eq!(Cron::parse("@daily", None), Err(field_count(1)));
    assert_eq!(Cron::parse("", None), Err(field_count(0)));
    for broken in ["60 * * * *", "* 24 * * *", "*/0 * * * *", "5-1 * * * *", "x * * * *", "0 0 32 * *"] {
        assert!(matches!(Cron::parse(broken, None), Err(CronError::Pattern { .. })), "{broken}");
    }
    for never in ["0 0 30 2 *", "0 0 31 4 *"] {
        assert!(matches!(Cron::parse(never, None), Err(CronError::Never { .. })), "{never}");
    }
    assert!(matches!(Cron::parse("* * * * *", Some("Mars/Base")), Err(CronError::UnknownZone { .. })));
}

#[test]
fn an_expression_is_bounded_in_length() {
    let minutes = |length: usize| format!("{}1 * * * *", "1,".repeat((length - 9) / 2));

    assert!(Cron::parse(&format!("{} ", minutes(EXPRESSION_BYTES_MAXIMUM - 1)), None).is_ok());
    assert!(matches!(
        Cron::parse(&minutes(EXPRESSION_BYTES_MAXIMUM + 1), None),
        Err(CronError::TooLong { size_bytes: 201 })
    ));
}

const ZONES: [&str; 5] =
    ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"];

/// The two days around each of the year's transitions, where mistakes live; a plain day when there are none.
fn interesting_start(zone: &TimeZone, which: usize) -> Timestamp {
    let new_year: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let change = zone.following(new_year).nth(which).map_or(new_year, |change| change.timestamp());
    change - jiff::SignedDuration::from_hours(26)
}

/// The minutes of two and a half days, as instants with their wall-clock time.
fn minutes(zone: &TimeZone, start: Timestamp) -> impl Iterator<Item = (Timestamp, DateTime)> {
    (1..60 * 60).map(move |minute| {
        let instant = start + jiff::SignedDuration::from_mins(minute);
        (instant, zone.to_datetime(instant))
    })
}

fn is_match(cron: &Cron, civil: DateTime) -> bool {
    cron.pattern.is_time_matching(&civil.to_zoned(TimeZone::UTC).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn a_wall_clock_expression_fires_at_exactly_the_matching_minutes(
        zone in 0..ZONES.len(), which in 0..2_usize, step in 1..60_u32, hours in prop_oneof![Just("*"), Just("*/2"), Just("0-3")],
    ) {
        let cron = Cron::parse(&format!("*/{step} {hours} * * *"), Some(ZONES[zone])).unwrap();
        let start = interesting_start(&cron.zone, which);
        let expected: Vec<i64> = minutes(&cron.zone, start)
            .filter(|(_, civil)| is_match(&cron, *civil))
            .map(|(instant, _)| instant.as_millisecond())
            .collect();

        let mut now_ms = start.as_millisecond();
        let found: Vec<i64> = expected.iter().map(|_| { now_ms = cron.next_after(now_ms).unwrap(); now_ms }).collect();

        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_time_of_day_fires_exactly_once_a_day(
        zone in 0..ZONES.len(), which in 0..2_usize, minute in 0..60_u32, hour in 0..24_u32,
    ) {
        let cron = Cron::parse(&format!("{minute} {hour} * * *"), Some(ZONES[zone])).unwrap();
        let mut now_ms = interesting_start(&cron.zone, which).as_millisecond();

        let mut days = Vec::new();
        for _ in 0..4 {
            now_ms = cron.next_after(now_ms).unwrap();
            days.push(cron.zone.to_datetime(Timestamp::from_millisecond(now_ms).unwrap()).date());
        }

        for (yesterday, today) in days.iter().zip(days.iter().skip(1)) {
            prop_assert_eq!(yesterday.tomorrow().unwrap(), *today);
        }
    }
}
