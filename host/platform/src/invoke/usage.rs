//! The usage of a run that is charged to its owner.

use domain::users::{Plan, day_start_ms};
use store::Op;

use super::Owner;
use crate::Platform;
use crate::ports::Usage;
use crate::records::names;

/// Counters of a day outlive it by one, for a clock that steps back.
const KEPT_MS: i64 = 2 * 24 * 3600 * 1000;

pub(crate) fn usage_operations(
    platform: &Platform,
    owner: Owner<'_>,
    usage: &Usage,
    counts_as_invocation: bool,
) -> Vec<Op> {
    let day_ms = day_start_ms(platform.clock.instant_ms());
    let expires_ms = u64::try_from(day_ms.saturating_add(KEPT_MS)).ok();
    let count = |counter, amount: u64, expires_ms| {
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        Op::Count { counter, amount, expires_ms }
    };
    let invocations = u64::from(counts_as_invocation && !owner.was_counted);
    let mut operations = vec![
        count(names::compute_of_day(day_ms), usage.compute_ms(), expires_ms),
        count(names::invocations_of_day(day_ms), invocations, expires_ms),
    ];
    if let Plan::Paid { period_start_ms, .. } = owner.plan {
        operations.push(count(names::invocations_of_period(*period_start_ms), invocations, None));
    }
    operations
}
