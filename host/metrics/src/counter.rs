//! Counters, alone and by label.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Family, Label, Sample, Value};

/// Only ever grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

/// A counter for each pair of two labels that the code knows.
pub struct Table<const ROWS: usize, const COLUMNS: usize> {
    labels: [&'static str; 2],
    rows: [&'static str; ROWS],
    columns: [&'static str; COLUMNS],
    counters: [[Counter; COLUMNS]; ROWS],
}

/// How often a cache had what it was asked for.
#[derive(Debug, Default)]
pub struct CacheUse {
    hits: Counter,
    misses: Counter,
}

// === impl Counter ===

impl Counter {
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub fn increment(&self) {
        self.add(1);
    }

    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Table ===

impl<const ROWS: usize, const COLUMNS: usize> Table<ROWS, COLUMNS> {
    /// The names of the two labels, and the values of each.
    pub fn new(labels: [&'static str; 2], rows: [&'static str; ROWS], columns: [&'static str; COLUMNS]) -> Self {
        let counters = std::array::from_fn(|_| std::array::from_fn(|_| Counter::new()));
        Self { labels, rows, columns, counters }
    }

    /// A label that the table does not know counts as its last one.
    pub fn increment(&self, row: &str, column: &str) {
        let place = |names: &[&str], name: &str| {
            let found = names.iter().position(|known| *known == name);
            found.unwrap_or(names.len().saturating_sub(1))
        };
        let counters = self.counters.get(place(&self.rows, row));
        if let Some(counter) = counters.and_then(|counters| counters.get(place(&self.columns, column))) {
            counter.increment();
        }
    }

    pub fn samples(&self) -> impl Iterator<Item = Sample> {
        let [first, second] = self.labels;
        self.rows.iter().zip(&self.counters).flat_map(move |(row, counters)| {
            self.columns.iter().zip(counters).map(move |(column, counter)| Sample {
                labels: vec![(first, *row), (second, *column)],
                value: Value::Whole(counter.read()),
            })
        })
    }

    pub fn family(&self, name: &'static str, help: &'static str) -> Family {
        Family::counter(name, help).with(self.samples())
    }
}

// === impl CacheUse ===

impl CacheUse {
    pub fn hit(&self) {
        self.hits.increment();
    }

    pub fn missed(&self) {
        self.misses.increment();
    }

    pub fn note(&self, is_hit: bool) {
        if is_hit { self.hit() } else { self.missed() }
    }

    pub(crate) fn read(&self) -> [(Label, u64); 2] {
        [(("result", "hit"), self.hits.read()), (("result", "miss"), self.misses.read())]
    }
}
