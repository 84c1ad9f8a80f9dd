//! Commits and leases of the in-memory store.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Owned, State, StoredJob, StoredTimer, count, size};
use crate::batch::counter_range;
use crate::queue::index::{Change, Index};
use crate::{
    At, Batch, CommitError, Committed, Enqueue, EntryId, EntryRef, Job, JobLease, LanePosition, Lease, LeaseRequest,
    Leased, Op, Partition, Precondition, Record, Shares, Tenant, Tick, TimerLease,
};

impl State {
    pub(super) fn commit(&mut self, batch: &Batch) -> Result<Committed, CommitError> {
        let mut turn = Turn {
            tenant: &batch.tenant,
            now_ms: batch.now_ms,
            owned: self.tenants.get(&batch.tenant).cloned().unwrap_or_default(),
            index: self.index.clone(),
            last_position: self.last_position,
            committed: Committed::default(),
        };
        for (index, precondition) in batch.preconditions.iter().enumerate() {
            turn.require((batch, precondition), At::Precondition(index))?;
        }
        if !turn.index.holds_all(&batch.tenant, &batch.operations) {
            return Err(CommitError::LeaseLost);
        }
        self.locks.judge(batch)?;
        for (index, operation) in batch.operations.iter().enumerate() {
            turn.apply(operation, index)?;
        }
        self.last_position = turn.last_position;
        self.index = turn.index;
        self.tenants.insert(batch.tenant.clone(), turn.owned);
        self.locks.apply(batch);
        Ok(turn.committed)
    }

    pub(super) fn lease_jobs(
        &mut self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Leased<Job> {
        let leased = self.index.lease_jobs(partitions, request, shares);
        let job = |(tenant, lease): (Tenant, JobLease)| {
            let job = self.tenants.get(&tenant)?.jobs.get(&lease.job)?;
            Some(job.clone().leased(tenant, lease))
        };
        Leased { items: leased.items.into_iter().filter_map(job).collect(), next_due_ms: leased.next_due_ms }
    }

    pub(super) fn lease_timers(&mut self, partitions: &[Partition], request: LeaseRequest) -> Leased<Tick> {
        let leased = self.index.lease_timers(partitions, request);
        let tick = |(tenant, lease): (Tenant, TimerLease)| {
            let StoredTimer { due_ms, schedule } = self.tenants.get(&tenant)?.timers.get(&lease.timer)?.clone();
            Some(Tick { tenant, lease, due_ms, schedule })
        };
        Leased { items: leased.items.into_iter().filter_map(tick).collect(), next_due_ms: leased.next_due_ms }
    }

    pub(super) fn extend(&mut self, tenant: &Tenant, lease: &Lease, until_ms: u64) -> Result<(), CommitError> {
        if self.index.extend(tenant, lease, until_ms) { Ok(()) } else { Err(CommitError::LeaseLost) }
    }
}

pub(super) fn scope_size(scope: &BTreeMap<String, Bytes>) -> u64 {
    scope.iter().map(|(key, value)| count(key.len() + value.len())).sum()
}

/// A commit in progress: copies that replace the originals when everything went well.
struct Turn<'batch> {
    tenant: &'batch Tenant,
    now_ms: u64,
    owned: Owned,
    index: Index,
    last_position: u64,
    committed: Committed,
}

impl Turn<'_> {
    fn require(&self, (batch, precondition): (&Batch, &Precondition), at: At) -> Result<(), CommitError> {
        let record = |kind: &str, id: &str| self.owned.records.get(kind).and_then(|kind| kind.get(id));
        let holds = match precondition {
            Precondition::RecordVersion { kind, id, version } => {
                record(kind, id).is_some_and(|record| record.version == *version)
            }
            Precondition::RecordAbsent { kind, id } => record(kind, id).is_none(),
            Precondition::AliasFree { kind, alias } => self.alias_owner(kind, alias).is_none(),
            Precondition::ListIs { kind, newest, total } => {
                let records = self.owned.records.get(kind);
                let last = records.and_then(|records| records.values().map(|record| record.position).max());
                (last, records.map_or(0, |records| records.len() as u64)) == (*newest, *total)
            }
            Precondition::CounterBelow { counter, limit } => {
                self.owned.counters.get(counter).copied().unwrap_or_default() < *limit
            }
            Precondition::ValueIs { scope, key, value } => {
                self.owned.scopes.get(scope).and_then(|scope| scope.get(key)) == value.as_ref()
            }
            Precondition::QueueFits { jobs, bytes } => self.index.fits(batch, *jobs, *bytes),
            Precondition::LeaseHeld(lease) => return self.require_lease(lease),
        };
        if holds { Ok(()) } else { Err(CommitError::Conflict { at }) }
    }

    fn apply(&mut self, operation: &Op, index: usize) -> Result<(), CommitError> {
        match operation {
            Op::PutRecord { kind, id, alias, value } => {
                return self.put_record(kind, id, alias.as_ref(), value, index);
            }
            Op::DeleteRecord { kind, id } => {
                self.owned.records.entry(kind.clone()).or_default().remove(id);
            }
            Op::Append { emitter, stream, value, keep } => self.append(emitter, stream, value, *keep),
            Op::DeleteEntries { emitter, stream, first, last, max } => {
                self.delete_entries(emitter, stream, (*first, *last), *max);
            }
            Op::DropEmitter { emitter, max } => self.drop_emitter(emitter, *max),
            Op::SetValue { scope, key, value, cap_bytes } => {
                return self.set_value((scope, key), value, *cap_bytes, index);
            }
            Op::RemoveValue { scope, key } => {
                self.owned.scopes.entry(scope.clone()).or_default().remove(key);
            }
            Op::ClearScope { scope, max } => self.clear_scope(scope, *max),
            // Taken and given up when the whole batch is applied.
            Op::Lock { .. } | Op::Unlock { .. } => {}
            Op::Count { counter, amount, .. } => {
                let total = self.owned.counters.entry(counter.clone()).or_default();
                *total = counter_range(*total + counter_range(*amount));
                self.committed.counters.push(*total);
            }
            Op::Enqueue(job) => self.enqueue(job),
            Op::Acknowledge(lease) => {
                self.index.apply(self.tenant, Change::Remove(lease.job));
                self.owned.jobs.remove(&lease.job);
            }
            Op::Reschedule { lease, due_ms, payload, lane_position } => {
                self.reschedule(*lease, *due_ms, payload.as_ref(), *lane_position);
            }
            Op::SetTimer { timer, due_ms, schedule } => self.set_timer(timer, *due_ms, schedule),
            Op::ClearTimer { timer } => self.clear_timer(timer),
            Op::FinishTick { lease, next_due_ms } => self.finish_tick(lease, *next_due_ms),
        }
        Ok(())
    }

    fn require_lease(&self, lease: &Lease) -> Result<(), CommitError> {
        if self.index.holds(self.tenant, lease) { Ok(()) } else { Err(CommitError::LeaseLost) }
    }

    fn alias_owner(&self, kind: &str, alias: &str) -> Option<&Record> {
        self.owned.records.get(kind)?.values().find(|record| record.alias.as_deref() == Some(alias))
    }

    fn put_record(
        &mut self,
        kind: &str,
        id: &str,
        alias: Option<&String>,
        value: &Bytes,
        index: usize,
    ) -> Result<(), CommitError> {
        let owner = alias.and_then(|alias| self.alias_owner(kind, alias));
        if owner.is_some_and(|owner| owner.id != id) {
            return Err(CommitError::Conflict { at: At::Operation(index) });
        }
        let records = self.owned.records.entry(kind.to_owned()).or_default();
        let record = records.entry(id.to_owned()).or_insert_with(|| Record {
            id: id.to_owned(),
            alias: None,
            version: 0,
            position: self.last_position + 1,
            value: Bytes::new(),
        });
        self.last_position = self.last_position.max(record.position);
        record.version += 1;
        record.alias = alias.cloned();
        record.value = value.clone();
        self.committed.versions.push(record.version);
        Ok(())
    }

    fn append(&mut self, emitter: &str, stream: &str, value: &Bytes, keep: u32) {
        let emitter = self.owned.emitters.entry(emitter.to_owned()).or_default();
        let id = EntryId::next(emitter.last, self.now_ms);
        emitter.last = Some(id);
        let entries = emitter.streams.entry(stream.to_owned()).or_default();
        entries.insert(id, value.clone());
        while entries.len() > size(keep) {
            entries.pop_first();
        }
        self.committed.entries.push(id);
    }

    fn delete_entries(&mut self, emitter: &str, stream: &str, range: (Option<EntryId>, Option<EntryId>), max: u32) {
        let entries = self.owned.emitters.get_mut(emitter).and_then(|emitter| emitter.streams.get_mut(stream));
        let mut removed = 0;
        if let Some(entries) = entries {
            entries.retain(|id, _| {
                let inside = range.0.is_none_or(|first| *id >= first) && range.1.is_none_or(|last| *id <= last);
                let goes = inside && removed < u64::from(max);
                removed += u64::from(goes);
                !goes
            });
        }
        self.committed.removed.push(removed);
    }

    fn drop_emitter(&mut self, name: &str, max: u32) {
        let mut removed = 0;
        if let Some(emitter) = self.owned.emitters.get_mut(name) {
            for entries in emitter.streams.values_mut() {
                while removed < u64::from(max) && entries.pop_first().is_some() {
                    removed += 1;
                }
            }
            if emitter.streams.values().all(BTreeMap::is_empty) {
                self.owned.emitters.remove(name);
            }
        }
        self.committed.removed.push(removed);
    }

    fn set_value(
        &mut self,
        place: (&String, &String),
        value: &Bytes,
        cap_bytes: u64,
        index: usize,
    ) -> Result<(), CommitError> {
        let scope = self.owned.scopes.entry(place.0.clone()).or_default();
        let before = scope_size(scope);
        scope.insert(place.1.clone(), value.clone());
        let size_bytes = scope_size(scope);
        if size_bytes > cap_bytes && size_bytes > before {
            return Err(CommitError::OverCap { operation: index, size_bytes, cap_bytes });
        }
        Ok(())
    }

    fn clear_scope(&mut self, scope: &str, max: u32) {
        let scope = self.owned.scopes.entry(scope.to_owned()).or_default();
        let mut removed = 0;
        while removed < u64::from(max) && scope.pop_first().is_some() {
            removed += 1;
        }
        self.committed.removed.push(removed);
    }

    fn enqueue(&mut self, job: &Enqueue) {
        let id = self.index.take_job_id();
        let entry = match job.entry {
            Some(EntryRef::InBatch(index)) => self.committed.entries.get(index).copied(),
            Some(EntryRef::Id(id)) => Some(id),
            None => None,
        };
        let Enqueue { lane, due_ms, payload, .. } = job.clone();
        let bytes = count(payload.len());
        let change = Change::Enqueue { job: id, lane: lane.clone(), due_ms: job.available_ms(), bytes };
        self.index.apply(self.tenant, change);
        self.owned.jobs.insert(id, StoredJob { lane, due_ms, attempt: 0, payload, entry });
        self.committed.jobs.push(id);
    }

    fn reschedule(&mut self, lease: JobLease, due_ms: u64, payload: Option<&Bytes>, lane_position: LanePosition) {
        let bytes = payload.map(|payload| count(payload.len()));
        self.index.apply(self.tenant, Change::Reschedule { job: lease.job, due_ms, bytes, lane_position });
        if let Some(job) = self.owned.jobs.get_mut(&lease.job) {
            job.due_ms = due_ms;
            job.attempt += 1;
            if let Some(payload) = payload {
                job.payload = payload.clone();
            }
            if lane_position == LanePosition::Leave {
                job.lane = None;
            }
        }
    }

    fn set_timer(&mut self, timer: &str, due_ms: u64, schedule: &Bytes) {
        self.index.apply(self.tenant, Change::SetTimer { timer: timer.to_owned(), due_ms });
        self.owned.timers.insert(timer.to_owned(), StoredTimer { due_ms, schedule: schedule.clone() });
    }

    fn clear_timer(&mut self, timer: &str) {
        self.index.apply(self.tenant, Change::ClearTimer { timer: timer.to_owned() });
        self.owned.timers.remove(timer);
    }

    fn finish_tick(&mut self, lease: &TimerLease, next_due_ms: Option<u64>) {
        let schedule = self.owned.timers.get(&lease.timer).map(|timer| timer.schedule.clone());
        match (next_due_ms, schedule) {
            (Some(due_ms), Some(schedule)) => self.set_timer(&lease.timer, due_ms, &schedule),
            _ => self.clear_timer(&lease.timer),
        }
    }
}

impl StoredJob {
    fn leased(self, tenant: Tenant, lease: JobLease) -> Job {
        let Self { lane, due_ms, attempt, payload, entry } = self;
        Job { tenant, lease, lane, due_ms, attempt, payload, entry }
    }
}
