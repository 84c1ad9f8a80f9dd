//! Percentiles of measured times.

use std::time::Duration;

/// Times of one thing, measured many times.
pub(crate) struct Times(Vec<Duration>);

// === impl Times ===

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that `percent` of all did not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(rank).copied().unwrap_or_default()
    }

    /// [`percentile`](Self::percentile) in microseconds.
    pub(crate) fn percentile_us(&self, percent: usize) -> f64 {
        self.percentile(percent).as_secs_f64() * 1e6
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Times;

    #[test]
    fn a_percentile_is_a_measured_time() {
        let times = Times::new((1..=100).rev().map(Duration::from_micros).collect());

        let percentiles = [1, 50, 99, 100].map(|percent| times.percentile_us(percent).round());

        assert_eq!(percentiles, [1.0, 50.0, 99.0, 100.0]);
    }

    #[test]
    fn nothing_measured_is_zero() {
        assert_eq!(Times::new(Vec::new()).percentile_us(50), 0.0);
    }
}
