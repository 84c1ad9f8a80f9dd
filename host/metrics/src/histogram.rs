//! A histogram of atomics: an observation adds to one bucket and to the sum.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::Value;

/// Units of a histogram's integers in one unit of what is shown: times are counted in microseconds and shown in seconds.
pub const MICROSECONDS: f64 = 1_000_000.0;
/// Of a histogram that is shown as it counts.
pub const WHOLE: f64 = 1.0;

/// In microseconds, from a run that only computes to a timer's deadline.
pub const SECONDS_BOUNDS: &[u64] = &[
    250,
    500,
    1000,
    2500,
    5000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
];

#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what lies beyond all of them.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

// === impl Histogram ===

impl Histogram {
    /// The bounds rise; a value at a bound lies within it.
    pub fn new(bounds: &'static [u64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, sum: AtomicU64::new(0) }
    }

    pub fn of_seconds() -> Self {
        Self::new(SECONDS_BOUNDS)
    }

    pub fn observe(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub fn observe_time(&self, took: Duration) {
        self.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// With `per_unit` of the integers in one unit of what is shown. The count is that of the buckets, so that both agree
    /// also while observations are made.
    #[expect(clippy::cast_precision_loss, reason = "what is shown is a floating point number")]
    pub fn read(&self, per_unit: f64) -> Value {
        let bounds = self.bounds.iter().map(|bound| *bound as f64 / per_unit).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> =
            bounds.zip(&self.buckets).map(|(bound, bucket)| (bound, bucket.load(Ordering::Relaxed))).collect();
        let count = buckets.iter().map(|(_, within)| within).sum();
        Value::Distribution { sum: self.sum.load(Ordering::Relaxed) as f64 / per_unit, count, buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::new(&[10, 100]);
        for value in [0, 10, 11, 100, 101, 5000] {
            histogram.observe(value);
        }

        let expected = vec![(1.0, 2), (10.0, 2), (f64::INFINITY, 2)];
        assert_eq!(histogram.read(10.0), Value::Distribution { sum: 522.2, count: 6, buckets: expected });
    }

    #[test]
    fn a_time_is_counted_in_microseconds_and_shown_in_seconds() {
        let histogram = Histogram::of_seconds();
        histogram.observe_time(Duration::from_millis(1500));

        let Value::Distribution { sum, buckets, .. } = histogram.read(MICROSECONDS) else { panic!("a distribution") };
        assert!((sum - 1.5).abs() < 1e-9);
        assert_eq!(buckets.iter().find(|(_, count)| *count > 0), Some(&(2.5, 1)));
    }
}
