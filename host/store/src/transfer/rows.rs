//! A row: one thing that is kept, whichever engine keeps it.

use std::collections::BTreeMap;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::{EntryId, Tenant};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Row {
    Record {
        tenant: Tenant,
        kind: String,
        id: String,
        alias: Option<String>,
        version: u64,
        value: Bytes,
    },
    /// The stream is there, and the newest id that its emitter ever gave.
    Stream {
        tenant: Tenant,
        emitter: String,
        name: String,
        last: EntryId,
    },
    Entry {
        tenant: Tenant,
        emitter: String,
        stream: String,
        id: EntryId,
        value: Bytes,
    },
    Value {
        tenant: Tenant,
        scope: String,
        key: String,
        value: Bytes,
    },
    Counter {
        tenant: Tenant,
        name: String,
        value: i64,
        expires_ms: Option<u64>,
    },
    Job {
        tenant: Tenant,
        lane: Option<String>,
        due_ms: u64,
        attempt: u32,
        entry: Option<EntryId>,
        payload: Bytes,
    },
    Timer {
        tenant: Tenant,
        timer: String,
        due_ms: u64,
        schedule: Bytes,
    },
    Directory {
        key: String,
        value: Bytes,
    },
}

/// How many rows of a kind there are, and a sum over all of them that does not depend on their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub rows: u64,
    sum: [u64; 4],
}

#[derive(Debug, Default)]
pub(super) struct Tallies(BTreeMap<&'static str, Tally>);

// === impl Row ===

impl Row {
    /// None of what is outside of any tenant.
    pub(crate) fn tenant(&self) -> Option<&Tenant> {
        match self {
            Self::Record { tenant, .. }
            | Self::Stream { tenant, .. }
            | Self::Entry { tenant, .. }
            | Self::Value { tenant, .. }
            | Self::Counter { tenant, .. }
            | Self::Job { tenant, .. }
            | Self::Timer { tenant, .. } => Some(tenant),
            Self::Directory { .. } => None,
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        /// Of names and numbers.
        const ABOUT: usize = 128;
        let value = match self {
            Self::Record { value, .. }
            | Self::Entry { value, .. }
            | Self::Value { value, .. }
            | Self::Directory { value, .. } => value.len(),
            Self::Job { payload, .. } => payload.len(),
            Self::Timer { schedule, .. } => schedule.len(),
            Self::Stream { .. } | Self::Counter { .. } => 0,
        };
        value + ABOUT
    }

    /// What it is called, and what makes it the same on both sides. None of what ends by itself: it may end in between.
    fn identity(&self) -> Option<(&'static str, Vec<Vec<u8>>)> {
        let text = |text: &str| text.as_bytes().to_vec();
        let number = |number: u64| number.to_string().into_bytes();
        let optional = |name: &Option<String>| name.as_ref().map_or_else(Vec::new, |name| text(&format!("={name}")));
        Some(match self {
            Self::Record { tenant, kind, id, alias, version, value } => (
                "records",
                vec![text(tenant.as_str()), text(kind), text(id), optional(alias), number(*version), value.to_vec()],
            ),
            Self::Stream { tenant, emitter, name, last } => {
                ("streams", vec![text(tenant.as_str()), text(emitter), text(name), text(&last.to_string())])
            }
            Self::Entry { tenant, emitter, stream, id, value } => (
                "events",
                vec![text(tenant.as_str()), text(emitter), text(stream), text(&id.to_string()), value.to_vec()],
            ),
            Self::Value { tenant, scope, key, value } => {
                ("values", vec![text(tenant.as_str()), text(scope), text(key), value.to_vec()])
            }
            Self::Counter { expires_ms: Some(_), .. } => return None,
            Self::Counter { tenant, name, value, .. } => {
                ("counters", vec![text(tenant.as_str()), text(name), text(&value.to_string())])
            }
            Self::Job { tenant, lane, due_ms, attempt, entry, payload } => {
                let entry = entry.map_or_else(Vec::new, |entry| text(&entry.to_string()));
                let numbers = [number(*due_ms), number(u64::from(*attempt))].concat();
                ("jobs", vec![text(tenant.as_str()), optional(lane), numbers, entry, payload.to_vec()])
            }
            Self::Timer { tenant, timer, due_ms, schedule } => {
                ("timers", vec![text(tenant.as_str()), text(timer), number(*due_ms), schedule.to_vec()])
            }
            Self::Directory { key, value } => ("directory", vec![text(key), value.to_vec()]),
        })
    }
}

// === impl Tallies ===

impl Tallies {
    pub(super) fn add(&mut self, row: &Row) {
        let Some((what, fields)) = row.identity() else { return };
        let mut hash = Sha256::new();
        for field in &fields {
            hash.update((field.len() as u64).to_le_bytes());
            hash.update(field);
        }
        let tally = self.0.entry(what).or_default();
        tally.rows += 1;
        for (sum, part) in tally.sum.iter_mut().zip(hash.finalize().chunks_exact(8)) {
            let part = part.iter().fold(0, |number: u64, byte| (number << 8) | u64::from(*byte));
            *sum = sum.wrapping_add(part);
        }
    }

    /// What there is more or less of, or is not the same.
    pub(super) fn difference(&self, other: &Self) -> Option<&'static str> {
        let names = self.0.keys().chain(other.0.keys());
        names.copied().find(|name| self.0.get(name) != other.0.get(name))
    }

    pub(super) fn into_list(self) -> Vec<(&'static str, Tally)> {
        self.0.into_iter().collect()
    }
}
