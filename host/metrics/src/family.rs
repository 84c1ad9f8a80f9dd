//! What a part of the host shows: series of one name, with their labels and values.

use crate::CacheUse;

/// A name and a value; both are texts of the code.
pub type Label = (&'static str, &'static str);

/// Series of one name. The name of a counter is without `_total`.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    pub name: &'static str,
    /// A sentence without its full stop.
    pub help: &'static str,
    pub kind: Kind,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub labels: Vec<Label>,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Whole(u64),
    Real(f64),
    /// Each bucket is its upper bound and what lies in it and in none before; the last bound is infinite.
    Distribution {
        sum: f64,
        count: u64,
        buckets: Vec<(f64, u64)>,
    },
}

// === impl Family ===

impl Family {
    pub fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Counter, samples: Vec::new() }
    }

    pub fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Gauge, samples: Vec::new() }
    }

    pub fn histogram(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Histogram, samples: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, samples: impl IntoIterator<Item = Sample>) -> Self {
        self.samples.extend(samples);
        self
    }

    /// One more series.
    #[must_use]
    pub fn sample(mut self, labels: &[Label], value: impl Into<Value>) -> Self {
        self.samples.push(Sample { labels: labels.to_vec(), value: value.into() });
        self
    }

    /// Families of the same name become one: two parts may each keep some of its series.
    pub fn merged(families: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for family in families {
            match merged.iter_mut().find(|known| known.name == family.name) {
                Some(known) => known.samples.extend(family.samples),
                None => merged.push(family),
            }
        }
        merged
    }
}

/// The families that all caches share; entries and bytes as far as a cache knows them.
pub fn of_caches(cache: &'static str, uses: &CacheUse, (entries, bytes): (Option<u64>, Option<u64>)) -> Vec<Family> {
    let name = ("cache", cache);
    let asked = uses.read().map(|(result, count)| Sample { labels: vec![name, result], value: count.into() });
    let gauge = |name: &'static str, help, value: Option<u64>| {
        value.map(|value| Family::gauge(name, help).sample(&[("cache", cache)], value))
    };
    let requests = Family::counter("wellspring_cache_requests", "What caches were asked for, by whether they had it");
    [Some(requests.with(asked))]
        .into_iter()
        .chain([
            gauge("wellspring_cache_entries", "What caches hold", entries),
            gauge("wellspring_cache_bytes", "What caches hold, in memory or, where the name says so, on disk", bytes),
        ])
        .flatten()
        .collect()
}

// === impl Value ===

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    #[test]
    fn series_of_one_name_are_one_family_whichever_part_keeps_them() {
        let uses = CacheUse::default();
        uses.hit();
        uses.note(false);
        uses.note(false);

        let merged = Family::merged(
            [of_caches("images", &uses, (Some(3), None)), of_caches("records", &CacheUse::default(), (None, Some(7)))]
                .into_iter()
                .flatten(),
        );

        let names: Vec<&str> = merged.iter().map(|family| family.name).collect();
        assert_eq!(names, ["wellspring_cache_requests", "wellspring_cache_entries", "wellspring_cache_bytes"]);
        let requests = &merged[0].samples;
        assert_eq!(requests.len(), 4);
        assert_eq!((&requests[0].value, &requests[1].value), (&Value::Whole(1), &Value::Whole(2)));
    }

    #[test]
    fn an_unknown_label_counts_as_the_last_and_makes_no_series() {
        let table = Table::new(["kind", "state"], ["one", "other"], ["good", "bad"]);
        table.increment("one", "good");
        table.increment("three", "worse");

        let counted: Vec<u64> = table
            .samples()
            .map(|sample| match sample.value {
                Value::Whole(count) => count,
                other => panic!("{other:?}"),
            })
            .collect();

        assert_eq!(counted, [1, 0, 0, 1]);
    }
}
