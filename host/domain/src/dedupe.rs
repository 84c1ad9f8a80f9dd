//! Dropping events that were emitted before.
//!
//! Each strategy is a state machine: the state of a source and the ordered emits of one run go in, the accepted ones
//! and the next state come out. A duplicate is dropped quietly, that is the point; an emit that cannot be judged is
//! rejected with an error, never dropped silently.

mod numeric;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::emit::{Emit, EmitKey};
use numeric::Numeric;

/// Spec, Dedupe: "keeps a cache of 100 emitted `id` values".
pub const UNIQUE_CACHE_IDS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    Unique,
    Greatest,
    Last,
}

/// What a source remembers between runs. Another strategy's memory says nothing and is started afresh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "snake_case")]
pub enum DedupeState {
    #[default]
    Empty,
    /// Oldest first.
    Unique {
        ids: VecDeque<EmitKey>,
    },
    Greatest {
        id: EmitKey,
    },
    Last(Cached),
}

/// The event that `last` goes on from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cached {
    id: EmitKey,
    /// None when it had no time, and in states that were written before times were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ts: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// In the order given.
    pub accepted: Vec<Emit>,
    pub duplicate_count: usize,
    pub rejected: Vec<Rejection>,
    pub state: DedupeState,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    pub emit: Emit,
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the source deduplicates, so every emit needs an id (a string or a number)")]
    MissingId,
    #[error("with dedupe \"greatest\" the id must be a number")]
    IdNotNumeric,
}

/// Judges the emits of one run, which are already in their final order (`emit::order`).
pub fn apply(strategy: Strategy, state: DedupeState, emits: Vec<Emit>) -> Applied {
    let (judged, rejected) = split_unusable(strategy, emits);
    let judged_count = judged.len();
    let (accepted, state) = match (strategy, state) {
        (Strategy::Unique, DedupeState::Unique { ids }) => unique(ids, judged),
        (Strategy::Unique, _) => unique(VecDeque::new(), judged),
        (Strategy::Greatest, DedupeState::Greatest { id }) => greatest(Some(id), judged),
        (Strategy::Greatest, _) => greatest(None, judged),
        (Strategy::Last, DedupeState::Last(cached)) => last(Some(cached), judged),
        (Strategy::Last, _) => last(None, judged),
    };
    let duplicate_count = judged_count - accepted.len();
    let accepted = accepted.into_iter().map(|judged| judged.emit).collect();
    Applied { accepted, duplicate_count, rejected, state }
}

/// An emit with the id it is judged by.
struct Judged {
    id: EmitKey,
    emit: Emit,
}

fn split_unusable(strategy: Strategy, emits: Vec<Emit>) -> (Vec<Judged>, Vec<Rejection>) {
    let (mut judged, mut rejected) = (Vec::with_capacity(emits.len()), Vec::new());
    for emit in emits {
        match emit.id.clone() {
            None => rejected.push(Rejection { emit, reason: Reason::MissingId }),
            Some(id) if strategy == Strategy::Greatest && Numeric::parse(&id).is_none() => {
                rejected.push(Rejection { emit, reason: Reason::IdNotNumeric });
            }
            Some(id) => judged.push(Judged { id, emit }),
        }
    }
    (judged, rejected)
}

/// Spec: "when the cache is full the oldest `id` is purged first". A duplicate does not renew its id.
fn unique(mut ids: VecDeque<EmitKey>, judged: Vec<Judged>) -> (Vec<Judged>, DedupeState) {
    let mut accepted = Vec::new();
    for one in judged {
        if ids.contains(&one.id) {
            continue;
        }
        if ids.len() >= UNIQUE_CACHE_IDS {
            ids.pop_front();
        }
        ids.push_back(one.id.clone());
        accepted.push(one);
    }
    (accepted, DedupeState::Unique { ids })
}

/// Spec: "only events with a larger `id` are emitted and the cache is updated to it", one event after the other.
fn greatest(id: Option<EmitKey>, judged: Vec<Judged>) -> (Vec<Judged>, DedupeState) {
    let mut largest = id;
    let mut accepted = Vec::new();
    for one in judged {
        let cached = largest.as_ref().and_then(Numeric::parse);
        if Numeric::parse(&one.id) > cached {
            largest = Some(one.id.clone());
            accepted.push(one);
        }
    }
    (accepted, largest.map_or(DedupeState::Empty, |id| DedupeState::Greatest { id }))
}

/// Spec: "only events after the event with the matching `id` are emitted; when no `id` matches, all". Should the id
/// come twice, its last place counts: what lies before it was there when it was cached.
fn last(cached: Option<Cached>, mut judged: Vec<Judged>) -> (Vec<Judged>, DedupeState) {
    let matching = cached.as_ref().and_then(|cached| judged.iter().rposition(|one| one.id == cached.id));
    let accepted = match matching {
        Some(place) => judged.split_off(place + 1),
        None => judged,
    };
    let cached = newest(cached, &accepted);
    (accepted, cached.map_or(DedupeState::Empty, DedupeState::Last))
}

/// Spec, Emit: "the cached last event is the one with the newest `ts`", of this run and of those before; of equal times
/// the one emitted later. Events without a time count only in a run without any: then the one emitted last is cached.
fn newest(cached: Option<Cached>, accepted: &[Judged]) -> Option<Cached> {
    let dated = accepted.iter().filter(|one| one.emit.ts.is_some()).max_by_key(|one| one.emit.ts);
    let Some(newest) = dated.or(accepted.last()) else {
        return cached;
    };
    let ts = newest.emit.ts;
    match cached {
        Some(cached) if ts.is_some() && cached.ts > ts => Some(cached),
        _ => Some(Cached { id: newest.id.clone(), ts }),
    }
}

// === impl Strategy ===

impl Strategy {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "unique" => Some(Self::Unique),
            "greatest" => Some(Self::Greatest),
            "last" => Some(Self::Last),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
