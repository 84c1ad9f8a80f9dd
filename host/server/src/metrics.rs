//! Numbers for the operator, in the text format of Prometheus.
//!
//! Names and labels come from the code and the route table, never from a request: the number of series is bounded.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// From a cached read to a deploy that runs hooks.
const BUCKETS_SECONDS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0, 300.0];

#[derive(Default)]
pub struct Metrics {
    families: Mutex<BTreeMap<&'static str, Family>>,
    /// Counters that are kept elsewhere.
    others: Mutex<Vec<Other>>,
}

struct Other {
    name: &'static str,
    help: &'static str,
    read: Box<dyn Fn() -> u64 + Send + Sync>,
}

struct Family {
    help: &'static str,
    kind: &'static str,
    /// By rendered labels.
    series: BTreeMap<String, Series>,
}

enum Series {
    Number(i64),
    Histogram { counts: [u64; BUCKETS_SECONDS.len()], count: u64, sum_seconds: f64 },
}

// === impl Metrics ===

impl Metrics {
    /// Adds to a counter.
    pub fn count(&self, name: &'static str, help: &'static str, labels: &[(&str, &str)], amount: u64) {
        self.add(name, help, "counter", labels, i64::try_from(amount).unwrap_or(i64::MAX));
    }

    /// A counter that is kept elsewhere, and read whenever it is shown.
    pub fn show(&self, name: &'static str, help: &'static str, read: impl Fn() -> u64 + Send + Sync + 'static) {
        let read = Box::new(read);
        self.others.lock().unwrap_or_else(PoisonError::into_inner).push(Other { name, help, read });
    }

    /// Moves a gauge up or down.
    pub fn gauge(&self, name: &'static str, help: &'static str, labels: &[(&str, &str)], change: i64) {
        self.add(name, help, "gauge", labels, change);
    }

    /// Notes how long something took.
    pub fn observe(&self, name: &'static str, help: &'static str, labels: &[(&str, &str)], took: Duration) {
        let mut families = self.lock();
        let series = families
            .entry(name)
            .or_insert_with(|| Family::new(help, "histogram"))
            .series(labels, || Series::Histogram { counts: [0; BUCKETS_SECONDS.len()], count: 0, sum_seconds: 0.0 });
        if let Series::Histogram { counts, count, sum_seconds } = series {
            let seconds = took.as_secs_f64();
            *count += 1;
            *sum_seconds += seconds;
            for (bucket, bound) in counts.iter_mut().zip(BUCKETS_SECONDS) {
                *bucket += u64::from(seconds <= bound);
            }
        }
    }

    pub fn render(&self) -> String {
        let mut text = String::new();
        for (name, family) in self.lock().iter() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {}", family.help, family.kind);
            for (labels, series) in &family.series {
                series.render(&mut text, name, labels);
            }
        }
        for Other { name, help, read } in self.others.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {}", read());
        }
        text
    }

    fn add(&self, name: &'static str, help: &'static str, kind: &'static str, labels: &[(&str, &str)], change: i64) {
        let mut families = self.lock();
        let family = families.entry(name).or_insert_with(|| Family::new(help, kind));
        if let Series::Number(number) = family.series(labels, || Series::Number(0)) {
            *number = number.saturating_add(change);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Family ===

impl Family {
    fn new(help: &'static str, kind: &'static str) -> Self {
        Self { help, kind, series: BTreeMap::new() }
    }

    fn series(&mut self, labels: &[(&str, &str)], new: impl FnOnce() -> Series) -> &mut Series {
        let mut text = String::with_capacity(64);
        for (name, value) in labels {
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(text, "{comma}{name}={value:?}");
        }
        self.series.entry(text).or_insert_with(new)
    }
}

// === impl Series ===

impl Series {
    fn render(&self, text: &mut String, name: &str, labels: &str) {
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let comma = if labels.is_empty() { "" } else { "," };
        let written = match self {
            Self::Number(number) => writeln!(text, "{name}{braced} {number}"),
            Self::Histogram { counts, count, sum_seconds } => {
                for (bound, bucket) in BUCKETS_SECONDS.iter().zip(counts) {
                    let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {bucket}");
                }
                let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
                writeln!(text, "{name}_sum{braced} {sum_seconds}\n{name}_count{braced} {count}")
            }
        };
        // Writing to a string does not fail.
        let _ = written;
    }
}

#[cfg(test)]
mod tests;
