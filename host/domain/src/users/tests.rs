//! Quotas.

use super::*;

const NOON_MS: i64 = 20_000 * DAY_MS + DAY_MS / 2;
const FREE: Plan = Plan::Free { quotas: Quotas { daily_compute_ms: 100, daily_invocations: 3 } };

#[test]
fn the_last_invocation_within_a_quota_passes_and_the_next_does_not() {
    let usage = |compute_ms, invocations| Usage::default().add(NOON_MS, compute_ms, invocations);
    let resets_at_ms = 20_001 * DAY_MS;

    assert_eq!(usage(99, 2).check(&FREE, NOON_MS), Ok(()));
    assert_eq!(usage(0, 3).check(&FREE, NOON_MS), Err(QuotaError::Invocations { quota: 3, resets_at_ms }));
    assert_eq!(usage(100, 0).check(&FREE, NOON_MS), Err(QuotaError::ComputeTime { quota_ms: 100, resets_at_ms }));
}

#[test]
fn quotas_reset_at_midnight_utc() {
    let usage = Usage::default().add(NOON_MS, 500, 500);
    let midnight_ms = usage.check(&FREE, NOON_MS).unwrap_err().resets_at_ms();

    assert_eq!(midnight_ms % DAY_MS, 0);
    assert!(usage.check(&FREE, midnight_ms - 1).is_err());
    assert_eq!(usage.check(&FREE, midnight_ms), Ok(()));
    assert_eq!(usage.add(midnight_ms, 1, 1).invocations, 1);
}

#[test]
fn a_clock_that_steps_back_forgets_nothing() {
    let usage = Usage::default().add(NOON_MS, 500, 500);

    assert_eq!(usage.on_day_of(NOON_MS - 3 * DAY_MS), usage);
}

#[test]
fn a_paid_account_is_counted_and_never_stopped() {
    let paid = Plan::Paid { period_start_ms: 0, period_end_ms: DAY_MS, period_invocations: 0 };

    assert_eq!(Usage::default().add(NOON_MS, u64::MAX, u64::MAX).check(&paid, NOON_MS), Ok(()));
}

#[test]
fn a_day_begins_at_midnight_also_before_1970() {
    assert_eq!(day_start_ms(0), 0);
    assert_eq!(day_start_ms(DAY_MS - 1), 0);
    assert_eq!(day_start_ms(-1), -DAY_MS);
}
