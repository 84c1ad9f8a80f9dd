//! Decides after an attempt to deliver: delivered, retry later, or give up.

use jiff::fmt::rfc2822::DateTimeParser;

/// Design, Delivery: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h. Eight attempts in all, over a little more than a day.
pub const DELAYS_MS: [i64; 7] = [5_000, 5 * 60_000, 30 * 60_000, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS];

/// A receiver may ask for more patience than ours, but not for a job that waits for ever.
pub const RETRY_AFTER_MAXIMUM_MS: i64 = 24 * HOUR_MS;

const HOUR_MS: i64 = 3_600_000;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt<'a> {
    /// No answer: refused, timed out, broken off.
    Unanswered,
    Answered {
        status: u16,
        retry_after: Option<&'a str>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    Retry {
        at_ms: i64,
    },
    /// The receiver is gone (410): the webhook is switched off.
    Deactivate,
    /// Out of attempts: to the dead letters, from where it can be replayed.
    Dead,
}

/// Judges the attempt number `attempts_made` (the first is 1). `random` spreads retries, so that all deliveries that
/// failed together do not come back together.
pub fn classify(attempt: Attempt<'_>, attempts_made: usize, now_ms: i64, random: u32) -> Verdict {
    let retry_after = match attempt {
        Attempt::Answered { status: 200..=299, .. } => return Verdict::Delivered,
        Attempt::Answered { status: 410, .. } => return Verdict::Deactivate,
        Attempt::Answered { retry_after, .. } => retry_after,
        Attempt::Unanswered => None,
    };
    let Some(delay_ms) = attempts_made.checked_sub(1).and_then(|index| DELAYS_MS.get(index)) else {
        return Verdict::Dead;
    };
    let asked_ms = retry_after.and_then(|header| parse_retry_after(header, now_ms)).unwrap_or(0);
    // The receiver's `Retry-After` is a lower bound, and jitter only adds: no receiver is called earlier than it asked.
    let floor_ms = asked_ms.min(RETRY_AFTER_MAXIMUM_MS).max(*delay_ms);
    Verdict::Retry { at_ms: now_ms.saturating_add(floor_ms + jitter_ms(*delay_ms, random)) }
}

/// The milliseconds a `Retry-After` header asks to wait: seconds or an HTTP date. Anything else is not a wish.
pub fn parse_retry_after(header: &str, now_ms: i64) -> Option<i64> {
    let header = header.trim();
    if !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(header.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1000));
    }
    let date = DateTimeParser::new().parse_timestamp(header).ok()?;
    Some(date.as_millisecond().saturating_sub(now_ms).max(0))
}

/// Up to a fifth of the delay.
fn jitter_ms(delay_ms: i64, random: u32) -> i64 {
    (delay_ms / 5) * i64::from(random) / i64::from(u32::MAX)
}

#[cfg(test)]
mod tests;
