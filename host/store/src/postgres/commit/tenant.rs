//! What a group of commits knows of one tenant: what was loaded, as the batches so far have left it.
//!
//! The keys of the maps are what is loaded; [`Owned::need`] puts them there, so that judging never asks for what is not.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;

use super::layered::Layered;
use crate::{Batch, EntryId, Lease, Op, Precondition, Tenant};

/// Two names that make a key together.
pub(super) type Pair = (String, String);

pub(super) struct Owned {
    pub(super) tenant: Tenant,
    pub(super) part: i32,
    pub(super) row: TenantRow,
    pub(super) is_row_changed: bool,
    pub(super) records: Layered<Pair, Option<RecordRow>>,
    pub(super) aliases: Layered<Pair, Option<String>>,
    pub(super) lists: HashMap<String, List>,
    pub(super) counters: HashMap<String, Counter>,
    pub(super) values: Layered<Pair, Option<Value>>,
    /// Keys of values whose content is compared.
    pub(super) compared: std::collections::HashSet<Pair>,
    pub(super) scopes: Layered<String, i64>,
    pub(super) locks: HashMap<String, HashMap<String, Locked>>,
    pub(super) changed_locks: Vec<Pair>,
    pub(super) jobs: HashMap<i64, JobRow>,
    pub(super) lanes: HashMap<String, VecDeque<InLane>>,
    pub(super) queue: QueueChanges,
    pub(super) timers: HashMap<String, Timer>,
    pub(super) emitters: HashMap<String, Emitter>,
    pub(super) streams: BTreeMap<Pair, Stream>,
    pub(super) news: Vec<News>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TenantRow {
    pub(super) positions: i64,
    pub(super) jobs: i64,
    pub(super) job_bytes: i64,
    pub(super) earliest_ms: Option<i64>,
}

#[derive(Debug, Clone)]
pub(super) struct RecordRow {
    pub(super) version: i64,
    pub(super) position: i64,
    pub(super) alias: Option<String>,
    /// Given by a batch of this group.
    pub(super) value: Bytes,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct List {
    pub(super) newest: Option<i64>,
    pub(super) total: i64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counter {
    pub(super) value: i64,
    pub(super) expires_ms: Option<i64>,
    pub(super) is_changed: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) length: i64,
    /// Of what is compared or was set by a batch of this group.
    pub(super) content: Option<Bytes>,
}

#[derive(Debug, Clone)]
pub(super) struct Locked {
    pub(super) owner: String,
    pub(super) until_ms: u64,
}

/// A job that is leased.
#[derive(Debug, Clone)]
pub(super) struct JobRow {
    pub(super) lane: Option<String>,
    pub(super) token: u64,
    pub(super) length: i64,
}

/// One of the first two jobs of a lane, or one that came behind them.
#[derive(Debug, Clone, Copy)]
pub(super) struct InLane {
    pub(super) id: i64,
    pub(super) due_ms: i64,
}

#[derive(Debug, Default)]
pub(super) struct QueueChanges {
    pub(super) new: BTreeMap<i64, NewJob>,
    pub(super) done: Vec<i64>,
    pub(super) rescheduled: Vec<Rescheduled>,
    /// Jobs that were there before and are the first of their lane now.
    pub(super) heads: Vec<i64>,
}

#[derive(Debug)]
pub(super) struct NewJob {
    pub(super) lane: Option<String>,
    pub(super) due_ms: i64,
    pub(super) available_ms: Option<i64>,
    pub(super) entry: Option<EntryId>,
    pub(super) payload: Bytes,
}

#[derive(Debug)]
pub(super) struct Rescheduled {
    pub(super) id: i64,
    pub(super) due_ms: i64,
    pub(super) leaves: bool,
    pub(super) payload: Option<Bytes>,
}

#[derive(Debug, Default)]
pub(super) struct Timer {
    /// None when it is not there.
    pub(super) row: Option<TimerRow>,
    pub(super) is_changed: bool,
}

#[derive(Debug)]
pub(super) struct TimerRow {
    pub(super) due_ms: i64,
    pub(super) schedule: Bytes,
    pub(super) token: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Emitter {
    pub(super) last: Option<EntryId>,
    pub(super) is_changed: bool,
    pub(super) is_followed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    /// None when it is not there.
    pub(super) number: Option<i64>,
    /// Entries of before that stay.
    pub(super) stored: i64,
    /// The oldest so many of before go.
    pub(super) excess: i64,
    pub(super) appended: VecDeque<(EntryId, Bytes)>,
    pub(super) is_changed: bool,
}

#[derive(Debug)]
pub(super) struct News {
    pub(super) emitter: String,
    pub(super) stream: String,
    pub(super) id: EntryId,
    pub(super) value: Bytes,
}

// === impl Owned ===

impl Owned {
    pub(super) fn new(tenant: &Tenant, partitions: u16) -> Self {
        Self {
            tenant: tenant.clone(),
            part: i32::from(tenant.partition(partitions).index()),
            row: TenantRow::default(),
            is_row_changed: false,
            records: Layered::default(),
            aliases: Layered::default(),
            lists: HashMap::new(),
            counters: HashMap::new(),
            values: Layered::default(),
            compared: std::collections::HashSet::new(),
            scopes: Layered::default(),
            locks: HashMap::new(),
            changed_locks: Vec::new(),
            jobs: HashMap::new(),
            lanes: HashMap::new(),
            queue: QueueChanges::default(),
            timers: HashMap::new(),
            emitters: HashMap::new(),
            streams: BTreeMap::new(),
            news: Vec::new(),
        }
    }

    /// Everything that judging and applying the batch looks at.
    pub(super) fn need(&mut self, batch: &Batch, settled: &mut Vec<i64>) {
        for precondition in &batch.preconditions {
            self.need_for(precondition, settled);
        }
        for operation in &batch.operations {
            self.need_to(operation, settled);
        }
    }

    fn need_for(&mut self, precondition: &Precondition, settled: &mut Vec<i64>) {
        match precondition {
            Precondition::RecordVersion { kind, id, .. } | Precondition::RecordAbsent { kind, id } => {
                self.records.need((kind.clone(), id.clone()), None);
            }
            Precondition::AliasFree { kind, alias } => self.aliases.need((kind.clone(), alias.clone()), None),
            Precondition::ListIs { kind, .. } => {
                self.lists.entry(kind.clone()).or_default();
            }
            Precondition::LeaseHeld(Lease::Job(lease)) => settled.push(job_number(lease.job)),
            Precondition::LeaseHeld(Lease::Timer(lease)) => {
                self.timers.entry(lease.timer.clone()).or_default();
            }
            Precondition::CounterBelow { counter, .. } => {
                self.counters.entry(counter.clone()).or_default();
            }
            Precondition::QueueFits { .. } => {}
            Precondition::ValueIs { scope, key, .. } => {
                let pair = (scope.clone(), key.clone());
                self.compared.insert(pair.clone());
                self.values.need(pair, None);
            }
        }
    }

    fn need_to(&mut self, operation: &Op, settled: &mut Vec<i64>) {
        match operation {
            Op::PutRecord { kind, id, alias, .. } => {
                self.records.need((kind.clone(), id.clone()), None);
                if let Some(alias) = alias {
                    self.aliases.need((kind.clone(), alias.clone()), None);
                }
            }
            Op::DeleteRecord { kind, id } => self.records.need((kind.clone(), id.clone()), None),
            Op::Append { emitter, stream, .. } => {
                self.emitters.entry(emitter.clone()).or_default();
                self.streams.entry((emitter.clone(), stream.clone())).or_default();
            }
            Op::SetValue { scope, key, .. } | Op::RemoveValue { scope, key } => {
                self.values.need((scope.clone(), key.clone()), None);
                self.scopes.need(scope.clone(), 0);
                self.locks.entry(scope.clone()).or_default();
            }
            Op::ClearScope { scope, .. } => self.scopes.need(scope.clone(), 0),
            Op::Lock { scope, .. } | Op::Unlock { scope } => {
                self.locks.entry(scope.clone()).or_default();
            }
            Op::Count { counter, .. } => {
                self.counters.entry(counter.clone()).or_default();
            }
            Op::Enqueue(job) => {
                if let Some(lane) = &job.lane {
                    self.lanes.entry(lane.clone()).or_default();
                }
            }
            Op::Acknowledge(lease) | Op::Reschedule { lease, .. } => settled.push(job_number(lease.job)),
            Op::SetTimer { timer, .. } | Op::ClearTimer { timer } => {
                self.timers.entry(timer.clone()).or_default();
            }
            Op::FinishTick { lease, .. } => {
                self.timers.entry(lease.timer.clone()).or_default();
            }
            Op::DeleteEntries { .. } | Op::DropEmitter { .. } => {}
        }
    }
}

// === impl Stream ===

impl Stream {
    /// Entries when the group is written.
    pub(super) fn count(&self) -> i64 {
        self.stored + i64::try_from(self.appended.len()).unwrap_or(i64::MAX)
    }
}

pub(super) fn job_number(job: crate::JobId) -> i64 {
    i64::try_from(job.0).unwrap_or(-1)
}
