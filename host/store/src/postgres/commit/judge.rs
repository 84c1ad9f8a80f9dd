//! A batch on what was loaded: refused without a trace, or applied.
//!
//! The same order as in every engine: preconditions, leases, locks, then the operations. Records and values can still refuse and are done
//! on trial first; what cannot fail comes after them. Each kind of answer is in the order of its own operations, so that this makes no
//! difference.

use std::collections::HashSet;

use super::tenant::{InLane, List, Locked, NewJob, Owned, RecordRow, Rescheduled, TimerRow, Value, job_number};
use crate::batch::counter_range;
use crate::{
    At, Batch, CommitError, Committed, Enqueue, EntryId, EntryRef, JobId, JobLease, LanePosition, Lease, Op,
    Precondition, TimerLease,
};

/// What a batch leaves to tell the hosts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// When the earliest of the work that it made is due.
    pub(super) due_ms: Option<u64>,
}

impl Owned {
    /// Whether the batch can be applied; its records and values then are.
    pub(super) fn judge(&mut self, batch: &Batch) -> Result<Committed, CommitError> {
        for (index, precondition) in batch.preconditions.iter().enumerate() {
            self.require(batch, precondition, index)?;
        }
        if !self.holds_all(&batch.operations) {
            return Err(CommitError::LeaseLost);
        }
        self.judge_locks(batch)?;
        let mut committed = Committed::default();
        let tried = self.try_all(&batch.operations, &mut committed);
        if tried.is_err() {
            self.records.forget();
            self.aliases.forget();
            self.values.forget();
            self.scopes.forget();
            tried?;
        }
        self.note_lists();
        self.records.keep();
        self.aliases.keep();
        self.values.keep();
        self.scopes.keep();
        Ok(committed)
    }

    fn require(&self, batch: &Batch, precondition: &Precondition, index: usize) -> Result<(), CommitError> {
        let holds = match precondition {
            Precondition::RecordVersion { kind, id, version } => {
                self.record(kind, id).is_some_and(|record| u64::try_from(record.version).ok() == Some(*version))
            }
            Precondition::RecordAbsent { kind, id } => self.record(kind, id).is_none(),
            Precondition::AliasFree { kind, alias } => self.alias_owner(kind, alias).is_none(),
            Precondition::ListIs { kind, newest, total } => {
                let list = self.lists.get(kind).copied().unwrap_or_default();
                let newest = newest.and_then(|newest| i64::try_from(newest).ok());
                (list.newest, u64::try_from(list.total).unwrap_or_default()) == (newest, *total)
            }
            Precondition::CounterBelow { counter, limit } => {
                self.counters.get(counter).map_or(0, |found| found.value) < *limit
            }
            Precondition::ValueIs { scope, key, value } => {
                let found = self.values.get(&(scope.clone(), key.clone())).and_then(Option::as_ref);
                found.and_then(|found| found.content.as_ref()) == value.as_ref()
            }
            Precondition::QueueFits { jobs, bytes } => batch.room_before(*jobs, *bytes).is_some_and(|room| {
                u64::try_from(self.row.jobs).unwrap_or_default() <= room.jobs
                    && u64::try_from(self.row.job_bytes).unwrap_or_default() <= room.bytes
            }),
            Precondition::LeaseHeld(lease) => {
                let holds = match lease {
                    Lease::Job(lease) => self.holds_job(*lease),
                    Lease::Timer(lease) => self.holds_timer(lease),
                };
                return if holds { Ok(()) } else { Err(CommitError::LeaseLost) };
            }
        };
        if holds { Ok(()) } else { Err(CommitError::Conflict { at: At::Precondition(index) }) }
    }

    fn record(&self, kind: &str, id: &str) -> Option<&RecordRow> {
        self.records.get(&(kind.to_owned(), id.to_owned()))?.as_ref()
    }

    fn alias_owner(&self, kind: &str, alias: &str) -> Option<&String> {
        self.aliases.get(&(kind.to_owned(), alias.to_owned()))?.as_ref()
    }

    fn holds_job(&self, lease: JobLease) -> bool {
        self.jobs.get(&job_number(lease.job)).is_some_and(|job| job.token == lease.token)
    }

    fn holds_timer(&self, lease: &TimerLease) -> bool {
        let row = self.timers.get(&lease.timer).and_then(|timer| timer.row.as_ref());
        row.is_some_and(|row| row.token == Some(lease.token))
    }

    /// Whether all leases that the operations settle are held, each settled once.
    fn holds_all(&self, operations: &[Op]) -> bool {
        let (mut jobs, mut timers): (HashSet<JobId>, HashSet<&str>) = Default::default();
        operations.iter().all(|operation| match operation {
            Op::Acknowledge(lease) | Op::Reschedule { lease, .. } => jobs.insert(lease.job) && self.holds_job(*lease),
            Op::FinishTick { lease, .. } => timers.insert(&lease.timer) && self.holds_timer(lease),
            Op::SetTimer { timer, .. } | Op::ClearTimer { timer } => {
                timers.insert(timer);
                true
            }
            _ => true,
        })
    }

    fn judge_locks(&self, batch: &Batch) -> Result<(), CommitError> {
        for (operation, op) in batch.operations.iter().enumerate() {
            let (Op::SetValue { scope, key, .. } | Op::RemoveValue { scope, key } | Op::Lock { scope, key, .. }) = op
            else {
                continue;
            };
            let lock = self.locks.get(scope).and_then(|locks| locks.get(key));
            let is_locked = lock.is_some_and(|lock| {
                lock.until_ms > batch.now_ms && batch.lock_owner.as_deref() != Some(lock.owner.as_str())
            });
            if is_locked {
                return Err(CommitError::Locked { operation });
            }
        }
        Ok(())
    }

    /// Records and values: what can still refuse.
    fn try_all(&mut self, operations: &[Op], committed: &mut Committed) -> Result<(), CommitError> {
        let mut positions = self.row.positions;
        for (index, operation) in operations.iter().enumerate() {
            match operation {
                Op::PutRecord { kind, id, alias, value } => {
                    let row =
                        RecordRow { version: 1, position: positions + 1, alias: alias.clone(), value: value.clone() };
                    let (version, position) = self.try_put((kind, id), row, index)?;
                    positions = positions.max(position);
                    committed.versions.push(version);
                }
                Op::DeleteRecord { kind, id } => self.try_delete(kind, id),
                Op::SetValue { scope, key, value, cap_bytes } => {
                    let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
                    let new = Value { length, content: Some(value.clone()) };
                    let (before, after) = self.resize(scope, key, Some(new));
                    if after > i64::try_from(*cap_bytes).unwrap_or(i64::MAX) && after > before {
                        let size_bytes = u64::try_from(after).unwrap_or_default();
                        return Err(CommitError::OverCap { operation: index, size_bytes, cap_bytes: *cap_bytes });
                    }
                }
                Op::RemoveValue { scope, key } => {
                    self.resize(scope, key, None);
                }
                _ => {}
            }
        }
        if positions != self.row.positions {
            self.row.positions = positions;
            self.is_row_changed = true;
        }
        Ok(())
    }

    /// The version and the place that the record then has.
    fn try_put(
        &mut self,
        (kind, id): (&str, &str),
        mut row: RecordRow,
        index: usize,
    ) -> Result<(u64, i64), CommitError> {
        if let Some(alias) = &row.alias
            && self.alias_owner(kind, alias).is_some_and(|owner| owner != id)
        {
            return Err(CommitError::Conflict { at: At::Operation(index) });
        }
        if let Some(before) = self.record(kind, id) {
            (row.version, row.position) = (before.version + 1, before.position);
        }
        self.free_alias(kind, id);
        if let Some(alias) = &row.alias {
            self.aliases.set((kind.to_owned(), alias.clone()), Some(id.to_owned()));
        }
        let (version, position) = (u64::try_from(row.version).unwrap_or_default(), row.position);
        self.records.set((kind.to_owned(), id.to_owned()), Some(row));
        Ok((version, position))
    }

    fn try_delete(&mut self, kind: &str, id: &str) {
        self.free_alias(kind, id);
        self.records.set((kind.to_owned(), id.to_owned()), None);
    }

    fn free_alias(&mut self, kind: &str, id: &str) {
        if let Some(alias) = self.record(kind, id).and_then(|record| record.alias.clone()) {
            self.aliases.set((kind.to_owned(), alias), None);
        }
    }

    /// The bytes of the scope before and after.
    fn resize(&mut self, scope: &str, key: &str, value: Option<Value>) -> (i64, i64) {
        let pair = (scope.to_owned(), key.to_owned());
        let name = i64::try_from(key.len()).unwrap_or(i64::MAX);
        let size_of = |value: Option<&Value>| value.map_or(0, |value| value.length + name);
        let before = self.scopes.get(&pair.0).copied().unwrap_or_default();
        let after = before - size_of(self.values.get(&pair).and_then(Option::as_ref)) + size_of(value.as_ref());
        self.scopes.set(pair.0.clone(), after);
        self.values.set(pair, value);
        (before, after)
    }

    /// What the records of the batch, which are still on trial, do to lists that others of the group require.
    fn note_lists(&mut self) {
        for (key, before, after) in self.records.trials() {
            let Some(list) = self.lists.get_mut(&key.0) else { continue };
            // Which is the newest after one was deleted is not known here: a group ends before what requires that.
            let newest = list.newest.max(after.as_ref().map(|row| row.position));
            let change = i64::from(after.is_some()) - i64::from(before.is_some_and(Option::is_some));
            *list = List { newest, total: list.total + change };
        }
    }

    /// What cannot be refused. `next_job` gives the ids of jobs.
    pub(super) fn apply(
        &mut self,
        batch: &Batch,
        operation: &Op,
        (committed, left): (&mut Committed, &mut Left),
        next_job: &mut impl FnMut() -> i64,
    ) {
        match operation {
            Op::Append { emitter, stream, value, keep } => {
                let id = self.append((emitter, stream), value, *keep, batch.now_ms);
                committed.entries.push(id);
            }
            Op::Lock { scope, key, until_ms } => {
                let lock = Locked { owner: batch.lock_owner.clone().unwrap_or_default(), until_ms: *until_ms };
                self.locks.entry(scope.clone()).or_default().insert(key.clone(), lock);
                self.changed_locks.push((scope.clone(), key.clone()));
            }
            Op::Unlock { scope } => self.unlock(scope, batch.lock_owner.as_deref()),
            Op::Count { counter, amount, expires_ms } => {
                let found = self.counters.entry(counter.clone()).or_default();
                found.value = counter_range(found.value + counter_range(*amount));
                found.expires_ms = expires_ms.and_then(|ms| i64::try_from(ms).ok());
                found.is_changed = true;
                committed.counters.push(found.value);
            }
            Op::Enqueue(job) => {
                let id = next_job();
                self.enqueue(id, job, &committed.entries, left);
                committed.jobs.push(JobId(u64::try_from(id).unwrap_or_default()));
            }
            Op::Acknowledge(lease) => {
                let id = job_number(lease.job);
                if let Some(job) = self.jobs.remove(&id) {
                    self.queue.done.push(id);
                    self.resize_queue(-1, -job.length);
                    self.advance_lane(job.lane.as_deref(), left);
                }
            }
            Op::Reschedule { lease, due_ms, payload, lane_position } => {
                self.reschedule(*lease, (*due_ms, payload.as_ref()), *lane_position, left);
            }
            Op::SetTimer { timer, due_ms, schedule } => self.set_timer(timer, *due_ms, schedule.clone(), left),
            Op::ClearTimer { timer } => self.clear_timer(timer),
            Op::FinishTick { lease, next_due_ms } => {
                let row = self.timers.get(&lease.timer).and_then(|timer| timer.row.as_ref());
                match (next_due_ms, row.map(|row| row.schedule.clone())) {
                    (Some(due_ms), Some(schedule)) => self.set_timer(&lease.timer, *due_ms, schedule, left),
                    _ => self.clear_timer(&lease.timer),
                }
            }
            Op::PutRecord { .. }
            | Op::DeleteRecord { .. }
            | Op::SetValue { .. }
            | Op::RemoveValue { .. }
            | Op::DeleteEntries { .. }
            | Op::DropEmitter { .. }
            | Op::ClearScope { .. } => {}
        }
    }

    fn append(&mut self, (emitter, name): (&str, &str), value: &bytes::Bytes, keep: u32, now_ms: u64) -> EntryId {
        let found = self.emitters.entry(emitter.to_owned()).or_default();
        let id = EntryId::next(found.last, now_ms);
        found.last = Some(id);
        found.is_changed = true;
        if found.is_followed {
            let (emitter, stream) = (emitter.to_owned(), name.to_owned());
            self.news.push(super::tenant::News { emitter, stream, id, value: value.clone() });
        }
        let stream = self.streams.entry((emitter.to_owned(), name.to_owned())).or_default();
        stream.is_changed = true;
        stream.appended.push_back((id, value.clone()));
        while stream.count() > i64::from(keep) {
            if stream.stored > 0 {
                let excess = (stream.count() - i64::from(keep)).min(stream.stored);
                stream.stored -= excess;
                stream.excess += excess;
            } else {
                stream.appended.pop_front();
            }
        }
        id
    }

    fn unlock(&mut self, scope: &str, owner: Option<&str>) {
        let Some(locks) = self.locks.get_mut(scope) else { return };
        let own = locks.iter().filter(|(_, lock)| Some(lock.owner.as_str()) == owner).map(|(key, _)| key.clone());
        for key in own.collect::<Vec<_>>() {
            locks.remove(&key);
            self.changed_locks.push((scope.to_owned(), key));
        }
    }

    fn enqueue(&mut self, id: i64, job: &Enqueue, entries: &[EntryId], left: &mut Left) {
        let entry = match job.entry {
            Some(EntryRef::InBatch(index)) => entries.get(index).copied(),
            Some(EntryRef::Id(id)) => Some(id),
            None => None,
        };
        let (due_ms, available_ms) = (milliseconds(job.due_ms), milliseconds(job.available_ms()));
        let is_head = job.lane.as_ref().is_none_or(|lane| {
            let line = self.lanes.entry(lane.clone()).or_default();
            line.push_back(InLane { id, due_ms });
            line.len() == 1
        });
        if is_head {
            self.wait_for(available_ms, left);
        }
        self.resize_queue(1, i64::try_from(job.payload.len()).unwrap_or(i64::MAX));
        let (lane, payload) = (job.lane.clone(), job.payload.clone());
        let available_ms = is_head.then_some(available_ms);
        self.queue.new.insert(id, NewJob { lane, due_ms, available_ms, entry, payload });
    }

    fn reschedule(
        &mut self,
        lease: JobLease,
        (due_ms, payload): (u64, Option<&bytes::Bytes>),
        lane_position: LanePosition,
        left: &mut Left,
    ) {
        let id = job_number(lease.job);
        let Some(job) = self.jobs.remove(&id) else { return };
        let (due_ms, leaves) = (milliseconds(due_ms), lane_position == LanePosition::Leave);
        if let Some(payload) = payload {
            self.resize_queue(0, i64::try_from(payload.len()).unwrap_or(i64::MAX) - job.length);
        }
        self.queue.rescheduled.push(Rescheduled { id, due_ms, leaves, payload: payload.cloned() });
        self.wait_for(due_ms, left);
        if leaves {
            self.advance_lane(job.lane.as_deref(), left);
        } else if let Some(first) = job.lane.and_then(|lane| self.lanes.get_mut(&lane)?.front_mut()) {
            first.due_ms = due_ms;
        }
    }

    /// The first of the lane is done or has left: the next becomes a head.
    fn advance_lane(&mut self, lane: Option<&str>, left: &mut Left) {
        let Some(line) = lane.and_then(|lane| self.lanes.get_mut(lane)) else { return };
        line.pop_front();
        let Some(InLane { id, due_ms }) = line.front().copied() else { return };
        match self.queue.new.get_mut(&id) {
            Some(job) => job.available_ms = Some(due_ms),
            None => self.queue.heads.push(id),
        }
        self.wait_for(due_ms, left);
    }

    fn wait_for(&mut self, available_ms: i64, left: &mut Left) {
        left.lower(available_ms);
        self.row.earliest_ms = Some(self.row.earliest_ms.map_or(available_ms, |earliest| earliest.min(available_ms)));
        self.is_row_changed = true;
    }

    fn resize_queue(&mut self, jobs: i64, bytes: i64) {
        self.row.jobs += jobs;
        self.row.job_bytes += bytes;
        self.is_row_changed = true;
    }

    fn set_timer(&mut self, timer: &str, due_ms: u64, schedule: bytes::Bytes, left: &mut Left) {
        let due_ms = milliseconds(due_ms);
        left.lower(due_ms);
        let found = self.timers.entry(timer.to_owned()).or_default();
        found.row = Some(TimerRow { due_ms, schedule, token: None });
        found.is_changed = true;
    }

    fn clear_timer(&mut self, timer: &str) {
        let found = self.timers.entry(timer.to_owned()).or_default();
        found.row = None;
        found.is_changed = true;
    }
}

impl Left {
    fn lower(&mut self, due_ms: i64) {
        let due_ms = u64::try_from(due_ms).unwrap_or_default();
        self.due_ms = Some(self.due_ms.map_or(due_ms, |earliest| earliest.min(due_ms)));
    }
}

fn milliseconds(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
