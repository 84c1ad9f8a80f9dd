//! The one write verb's data: what must hold, and what then happens, for one tenant.
//!
//! Preconditions are judged on the state before the batch, then the leases that operations settle;
//! then the operations run in order, and the first that cannot be done undoes everything. A batch says nothing about engines; [`Batch::check`] is
//! what both ask before they touch a byte.

mod check;

use bytes::Bytes;

use crate::{EntryId, JobId, JobLease, Lease, Part, Tenant, TimerLease};

pub use check::Invalid;

/// 10 000 emits per run, each to a few listeners, fit.
pub const MAX_OPERATIONS: usize = 65_536;
/// Kinds, ids, keys, scopes, lanes, names of streams and counters.
pub const MAX_NAME_BYTES: usize = 2048;
/// Counters and what is added to them end where a Redis script can still count exactly.
const COUNTER_END: i64 = (1 << 53) - 1;
/// Times end where a Redis score is still exact: in the year 287396.
pub(crate) const MAX_MS: u64 = (1 << 53) - 1;
/// One value: the linked modules of a large component fit, a runaway does not.
pub const MAX_VALUE_BYTES: usize = 64 * 1024 * 1024;

/// Everything one turn changes for one tenant: all of it or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub tenant: Tenant,
    /// The caller's clock: stamps entries and ages counters.
    pub now_ms: u64,
    /// The owner of the locks that do not refuse this batch; a lock of another owner refuses it with `Locked`.
    pub lock_owner: Option<String>,
    pub preconditions: Vec<Precondition>,
    pub operations: Vec<Op>,
    /// Appended after the operations. Nothing may depend on the ids that they are given.
    pub parts: Vec<Part>,
}

/// What must hold before the first operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Precondition {
    RecordVersion {
        kind: String,
        id: String,
        version: u64,
    },
    RecordAbsent {
        kind: String,
        id: String,
    },
    AliasFree {
        kind: String,
        alias: String,
    },
    /// No record of the kind was added or deleted: there are as many, and the newest has this position.
    ListIs {
        kind: String,
        newest: Option<u64>,
        total: u64,
    },
    /// The job or timer was not leased again. Fails with `LeaseLost`, not `Conflict`.
    LeaseHeld(Lease),
    CounterBelow {
        counter: String,
        limit: i64,
    },
    /// With the jobs of this batch the tenant has no more than `jobs` in the queue, and their payloads no more than
    /// `bytes`. What the batch acknowledges is not taken off.
    QueueFits {
        jobs: u64,
        bytes: u64,
    },
    /// The value is still what was read; `None` is a key that is not there. Compared by content, so that a value which
    /// was changed and changed back holds: what was computed from it is still right.
    ValueIs {
        scope: String,
        key: String,
        value: Option<Bytes>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Creates (version 1) or replaces (version + 1, same place in the list). The alias given here
    /// replaces the old one; an alias of another record is a conflict.
    PutRecord {
        kind: String,
        id: String,
        alias: Option<String>,
        value: Bytes,
    },
    /// Removes the record and its alias; nothing happens if there is none.
    DeleteRecord {
        kind: String,
        id: String,
    },
    /// Adds an entry to a stream of an emitter and keeps the newest `keep` of that stream.
    Append {
        emitter: String,
        stream: String,
        value: Bytes,
        keep: u32,
    },
    /// Deletes the oldest `max` entries of the inclusive range. Repeat until fewer than `max` went.
    DeleteEntries {
        emitter: String,
        stream: String,
        first: Option<EntryId>,
        last: Option<EntryId>,
        max: u32,
    },
    /// Deletes up to `max` entries of all streams; when none is left the emitter's id sequence is
    /// forgotten too. For emitters that are gone: a reused name may see old ids again.
    DropEmitter {
        emitter: String,
        max: u32,
    },
    /// Refused with `OverCap` when keys and values of the scope would exceed `cap_bytes` and grow.
    SetValue {
        scope: String,
        key: String,
        value: Bytes,
        cap_bytes: u64,
    },
    RemoveValue {
        scope: String,
        key: String,
    },
    /// Removes up to `max` values, it is not said which. Repeat until fewer than `max` went. The only
    /// operation on its scope in the batch.
    ClearScope {
        scope: String,
        max: u32,
    },
    /// Locks a key of a scope for `lock_owner`, present or not: until `until_ms` or its `Unlock`, batches of other
    /// owners can neither write nor lock it. Reads and `ClearScope` ignore locks. A lock is an aid to progress and not
    /// durable: an engine may forget it when it restarts.
    Lock {
        scope: String,
        key: String,
        until_ms: u64,
    },
    /// Gives up every lock of `lock_owner` in the scope.
    Unlock {
        scope: String,
    },
    /// Adds, saturating at plus and minus 2^53 - 1. From `expires_ms` on the counter may be forgotten; a counter has one
    /// such time, given with each `Count`.
    Count {
        counter: String,
        amount: i64,
        expires_ms: Option<u64>,
    },
    Enqueue(Enqueue),
    /// The job is done. A dead letter is this plus a record that keeps what is worth keeping.
    Acknowledge(JobLease),
    /// Hands the job back: due again later, `attempt` one higher.
    Reschedule {
        lease: JobLease,
        due_ms: u64,
        payload: Option<Bytes>,
        lane_position: LanePosition,
    },
    /// Creates or replaces a timer. A tick that is being worked on loses its lease.
    SetTimer {
        timer: String,
        due_ms: u64,
        schedule: Bytes,
    },
    ClearTimer {
        timer: String,
    },
    /// The tick is done; `None` ends the timer.
    FinishTick {
        lease: TimerLease,
        next_due_ms: Option<u64>,
    },
}

/// A new job.
#[derive(Debug, Clone, PartialEq)]
pub struct Enqueue {
    /// Jobs of one lane run one after the other, in order of arrival; `None` runs freely.
    pub lane: Option<String>,
    pub due_ms: u64,
    pub payload: Bytes,
    pub entry: Option<EntryRef>,
    /// Until then the job is as good as leased to the process that enqueues it, which does the work itself. The
    /// embedded engine forgets this with the process, as it forgets leases; on a shared engine the time decides. Only
    /// for jobs without a lane.
    pub held_until_ms: Option<u64>,
}

/// The entry a job is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryRef {
    /// The n-th `Append` of this batch, counted from zero; it must come before the job.
    InBatch(usize),
    Id(EntryId),
}

/// Whether a job that is retried keeps its position in its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LanePosition {
    /// The lane waits for the retry.
    Keep,
    /// The job leaves its lane and the next one may run.
    Leave,
}

/// What a batch brought about, in order of its operations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// One version per `PutRecord`.
    pub versions: Vec<u64>,
    /// One id per `Append`.
    pub entries: Vec<EntryId>,
    /// One new total per `Count`.
    pub counters: Vec<i64>,
    /// One id per `Enqueue`.
    pub jobs: Vec<JobId>,
    /// One count per `DeleteEntries`, `DropEmitter` and `ClearScope`.
    pub removed: Vec<u64>,
}

/// How many jobs, and the bytes of their payloads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) jobs: u64,
    pub(crate) bytes: u64,
}

pub(crate) fn counter_range(amount: i64) -> i64 {
    amount.clamp(-COUNTER_END, COUNTER_END)
}

// === impl Batch ===

impl Batch {
    pub fn new(tenant: &Tenant, now_ms: u64) -> Self {
        let (lock_owner, preconditions, operations, parts) = Default::default();
        Self { tenant: tenant.clone(), now_ms, lock_owner, preconditions, operations, parts }
    }

    #[must_use]
    pub fn require(mut self, precondition: Precondition) -> Self {
        self.preconditions.push(precondition);
        self
    }

    #[must_use]
    pub fn then(mut self, operation: Op) -> Self {
        self.operations.push(operation);
        self
    }

    /// What the batch adds to what a tenant keeps, when nothing of it replaces anything: jobs are not kept.
    pub fn stored_bytes(&self) -> u64 {
        let size = |operation: &Op| match operation {
            Op::PutRecord { value, .. } | Op::Append { value, .. } => value.len(),
            Op::SetValue { key, value, .. } => key.len() + value.len(),
            _ => 0,
        };
        let parts = self.parts.iter().map(|part| part.content.len());
        self.operations.iter().map(size).chain(parts).map(|bytes| bytes as u64).sum()
    }

    pub fn enqueues(&self) -> bool {
        self.operations.iter().any(|operation| matches!(operation, Op::Enqueue(_)))
    }

    /// The most that may be queued before the batch, so that it fits; `None` when it never does.
    pub(crate) fn room_before(&self, jobs: u64, bytes: u64) -> Option<Queued> {
        let mut room = Queued { jobs, bytes };
        for operation in &self.operations {
            if let Op::Enqueue(job) = operation {
                room.jobs = room.jobs.checked_sub(1)?;
                room.bytes = room.bytes.checked_sub(job.payload.len() as u64)?;
            }
        }
        Some(room)
    }
}

// === impl Enqueue ===

impl Enqueue {
    /// From when on it may be leased, as long as the process that enqueued it lives.
    pub(crate) fn available_ms(&self) -> u64 {
        self.held_until_ms.map_or(self.due_ms, |held_until_ms| held_until_ms.max(self.due_ms))
    }
}

#[cfg(test)]
mod tests;
