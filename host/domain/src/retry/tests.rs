//! Retries.

use proptest::prelude::*;

use super::*;

fn answered(status: u16) -> Attempt<'static> {
    Attempt::Answered { status, retry_after: None }
}

#[test]
fn the_answer_decides() {
    assert_eq!(classify(answered(200), 1, 0, 0), Verdict::Delivered);
    assert_eq!(classify(answered(299), 8, 0, 0), Verdict::Delivered);
    assert_eq!(classify(answered(410), 1, 0, 0), Verdict::Deactivate);
    for status in [199, 301, 400, 404, 429, 500, 503] {
        assert_eq!(classify(answered(status), 1, 0, 0), Verdict::Retry { at_ms: 5_000 }, "{status}");
    }
    assert_eq!(classify(Attempt::Unanswered, 1, 1_000, 0), Verdict::Retry { at_ms: 6_000 });
}

#[test]
fn retries_follow_the_schedule_and_end_in_dead_letter() {
    let seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

    for (index, seconds) in seconds.into_iter().enumerate() {
        assert_eq!(classify(answered(500), index + 1, 0, 0), Verdict::Retry { at_ms: seconds * 1_000 });
    }
    assert_eq!(classify(answered(500), 8, 0, 0), Verdict::Dead);
    assert_eq!(classify(answered(200), 8, 0, 0), Verdict::Delivered);
}

#[test]
fn retry_after_is_honoured_up_to_a_day() {
    let ask = |header| classify(Attempt::Answered { status: 503, retry_after: Some(header) }, 1, 0, 0);

    assert_eq!(ask("120"), Verdict::Retry { at_ms: 120_000 });
    assert_eq!(ask("1"), Verdict::Retry { at_ms: 5_000 });
    assert_eq!(ask("86400"), Verdict::Retry { at_ms: RETRY_AFTER_MAXIMUM_MS });
    assert_eq!(ask("86401"), Verdict::Retry { at_ms: RETRY_AFTER_MAXIMUM_MS });
    assert_eq!(ask("99999999999999999999999"), Verdict::Retry { at_ms: RETRY_AFTER_MAXIMUM_MS });
    assert_eq!(ask("soon"), Verdict::Retry { at_ms: 5_000 });
    assert_eq!(ask("Thu, 01 Jan 1970 00:02:00 GMT"), Verdict::Retry { at_ms: 120_000 });
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let day_ms = 1_445_412_480_000;

    assert_eq!(parse_retry_after(" 7 ", 0), Some(7_000));
    assert_eq!(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT", day_ms - 5_000), Some(5_000));
    assert_eq!(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT", day_ms + 5_000), Some(0));
    for broken in ["", "-5", "1.5", "tomorrow"] {
        assert_eq!(parse_retry_after(broken, 0), None, "{broken}");
    }
}

proptest! {
    #[test]
    fn jitter_adds_at_most_a_fifth(attempts in 1..=7_usize, random: u32, now_ms in 0_i64..1 << 42) {
        let delay_ms = DELAYS_MS[attempts - 1];

        let verdict = classify(Attempt::Unanswered, attempts, now_ms, random);

        let Verdict::Retry { at_ms } = verdict else { panic!("{verdict:?}") };
        prop_assert!((now_ms + delay_ms..=now_ms + delay_ms + delay_ms / 5).contains(&at_ms));
    }
}
