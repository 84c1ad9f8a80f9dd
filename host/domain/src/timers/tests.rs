//! Schedules: their shapes, their grid and what `run` receives.

use serde_json::json;

use super::*;

fn parse(value: Value) -> Result<Schedule, ScheduleError> {
    Schedule::parse(&value, 1)
}

#[test]
fn a_timer_is_given_as_interval_or_cron_and_read_back_as_returned() {
    let cases = [
        (json!({"intervalSeconds": 900}), json!({"cron": null, "interval_seconds": 900})),
        (json!({"intervalSeconds": 900.0}), json!({"cron": null, "interval_seconds": 900})),
        (json!({"cron": null, "interval_seconds": 60}), json!({"cron": null, "interval_seconds": 60})),
        (json!({"cron": " 0  9 * * * "}), json!({"cron": "0 9 * * *", "interval_seconds": null})),
        (
            json!({"cron": "0 9 * * *", "timezone": "Europe/Berlin"}),
            json!({"cron": "0 9 * * *", "interval_seconds": null, "timezone": "Europe/Berlin"}),
        ),
    ];

    for (given, returned) in cases {
        let schedule = parse(given).unwrap();
        assert_eq!(schedule.to_configured(), returned);
        assert_eq!(parse(returned).unwrap(), schedule);
    }
}

#[test]
fn every_wrong_shape_names_the_property_at_fault() {
    let cases = [
        (json!(60), ""),
        (json!({}), ""),
        (json!({"cron": null}), ""),
        (json!({"intervalSeconds": 1, "cron": "* * * * *"}), ""),
        (json!({"intervalSeconds": 0}), "intervalSeconds"),
        (json!({"intervalSeconds": 1.5}), "intervalSeconds"),
        (json!({"intervalSeconds": -1}), "intervalSeconds"),
        (json!({"intervalSeconds": "60"}), "intervalSeconds"),
        (json!({"interval_seconds": 0}), "interval_seconds"),
        (json!({"cron": 5}), "cron"),
        (json!({"cron": "whenever"}), "cron"),
        (json!({"cron": "* * * * *", "timezone": "Nowhere"}), "timezone"),
        (json!({"cron": "* * * * *", "timezone": 1}), "timezone"),
        (json!({"intervalSeconds": 1, "timezone": "UTC"}), "timezone"),
        (json!({"interval": 1}), "interval"),
    ];

    for (given, property) in cases {
        assert_eq!(parse(given.clone()).unwrap_err().property(), property, "{given}");
    }
}

#[test]
fn an_interval_lies_within_its_bounds() {
    assert!(parse(json!({"intervalSeconds": 1})).is_ok());
    assert!(parse(json!({"intervalSeconds": INTERVAL_SECONDS_MAXIMUM})).is_ok());
    assert!(parse(json!({"intervalSeconds": INTERVAL_SECONDS_MAXIMUM + 1})).is_err());
    assert!(Schedule::parse(&json!({"intervalSeconds": 14}), 15).is_err());
    assert!(Schedule::parse(&json!({"intervalSeconds": 15}), 15).is_ok());
    assert!(Schedule::parse(&json!({"intervalSeconds": 0}), 0).is_err());
}

#[test]
fn the_first_tick_comes_one_interval_after_activation() {
    let schedule = Schedule::Interval { seconds: 60 };

    assert_eq!(schedule.next_after(1_000), Some(61_000));
    assert_eq!(schedule.next_after(i64::MAX), None);
}

#[test]
fn missed_ticks_run_once_and_the_grid_is_kept() {
    let schedule = Schedule::Interval { seconds: 60 };

    let cases = [
        (60_000, 60_000, 120_000),
        (60_000, 60_900, 120_000),
        (60_000, 119_999, 120_000),
        (60_000, 120_000, 180_000),
        (60_000, 10_000_000, 10_020_000),
        // A clock that stepped back must not bring the same tick again.
        (60_000, 0, 120_000),
    ];
    for (due_ms, now_ms, expected) in cases {
        assert_eq!(schedule.following(due_ms, now_ms), Some(expected), "due {due_ms} at {now_ms}");
    }
    assert_eq!(schedule.following(i64::MAX, i64::MAX), None);
}

#[test]
fn missed_cron_ticks_run_once() {
    let schedule = parse(json!({"cron": "0 * * * *"})).unwrap();
    let hour_ms = 3_600_000;

    assert_eq!(schedule.following(hour_ms, hour_ms * 5 + 1), Some(hour_ms * 6));
    assert_eq!(schedule.following(hour_ms, 0), Some(hour_ms * 2));
}

#[test]
fn the_event_tells_the_time_in_seconds_and_the_schedule() {
    assert_eq!(
        Schedule::Interval { seconds: 60 }.event(1_700_000_000_999),
        json!({"timestamp": 1_700_000_000, "interval_seconds": 60})
    );
    assert_eq!(parse(json!({"cron": "0 9 * * *"})).unwrap().event(1_000), json!({"timestamp": 1, "cron": "0 9 * * *"}));
}
