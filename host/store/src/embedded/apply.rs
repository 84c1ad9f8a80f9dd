//! One batch inside the writer's transaction.
//!
//! Everything that can be judged without writing is judged first (preconditions, leases), so most
//! batches need no savepoint. Those whose operations can fail half-way get one, and what waits in
//! memory is written before it: after a rollback, memory is simply forgotten.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension};

use super::counters::Counters;
use super::joining::Joining;
use super::record_cache::RecordChange;
use super::streams::{Known, Streams};
use crate::locks::Locks;
use crate::queue::index::{Change, Index};
use crate::{
    At, Batch, CommitError, Committed, Enqueue, EntryRef, JobId, JobLease, LanePosition, Op, Precondition, Tenant,
    TimerLease,
};

/// The outcome, and what to do to the order of work and to records in memory (nothing after a failure).
pub(super) struct Applied {
    pub(super) outcome: Result<Committed, CommitError>,
    pub(super) changes: Vec<Change>,
    pub(super) records: Vec<RecordChange>,
}

/// What the writer remembers between batches instead of writing it each time.
#[derive(Default)]
pub(super) struct Memory {
    streams: Streams,
    joining: Joining,
    counters: Counters,
    locks: Locks,
}

pub(super) struct Apply<'run> {
    connection: &'run Connection,
    memory: &'run mut Memory,
    tenant: &'run Tenant,
    now_ms: u64,
    committed: Committed,
    changes: Vec<Change>,
    records: Vec<RecordChange>,
}

impl Memory {
    /// At the end of a group: all that it changed.
    pub(super) fn flush(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        self.joining.write_all(connection, &mut self.streams)?;
        self.save(connection)
    }

    /// Before a savepoint: what a rollback must not take with it. Parts of entries are not written, nor rolled back.
    fn save(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        self.streams.flush(connection)?;
        self.counters.flush(connection)
    }

    pub(super) fn sweep_locks(&mut self, now_ms: u64) {
        self.locks.sweep(now_ms);
    }

    /// Locks stay: they say nothing about rows.
    pub(super) fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Known {
        self.streams.last_entry(tenant, emitter)
    }

    /// After the group was rolled back.
    pub(super) fn forget(&mut self) {
        self.joining.forget();
        self.forget_rows();
    }

    fn forget_rows(&mut self) {
        self.streams.forget();
        self.counters.forget();
    }

    fn add_parts(&mut self, connection: &Connection, batch: &Batch) -> Result<(), rusqlite::Error> {
        let Self { joining, streams, .. } = self;
        let at = (&batch.tenant, batch.now_ms);
        batch.parts.iter().try_for_each(|part| joining.add((connection, streams), at, part))
    }

    /// Before the batch deletes entries. Outside of its savepoint: what waits is of batches that were applied.
    fn join_what_is_deleted(&mut self, connection: &Connection, batch: &Batch) -> Result<(), rusqlite::Error> {
        let Self { joining, streams, .. } = self;
        for operation in &batch.operations {
            if let Op::DeleteEntries { emitter, .. } | Op::DropEmitter { emitter, .. } = operation {
                joining.write_of((connection, streams), &batch.tenant, emitter)?;
            }
        }
        Ok(())
    }
}

/// Either the batch is refused or the database failed; the latter takes the whole group with it.
enum Stop {
    Refused(CommitError),
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl<'run> Apply<'run> {
    pub(super) fn run(
        connection: &'run Connection,
        memory: &'run mut Memory,
        index: &mut Index,
        batch: &'run Batch,
    ) -> Result<Applied, rusqlite::Error> {
        let mut apply = Self {
            connection,
            memory,
            tenant: &batch.tenant,
            now_ms: batch.now_ms,
            committed: Committed::default(),
            changes: Vec::new(),
            records: Vec::new(),
        };
        let judged = apply.judge(index, batch);
        let is_saved = judged.is_ok() && batch.operations.iter().any(can_fail_half_way);
        if judged.is_ok() {
            apply.memory.join_what_is_deleted(connection, batch)?;
        }
        if is_saved {
            apply.memory.save(connection)?;
            connection.prepare_cached("SAVEPOINT batch")?.execute([])?;
        }
        match judged.and_then(|()| apply.operate(index, &batch.operations)) {
            Ok(()) => {
                if is_saved {
                    connection.prepare_cached("RELEASE batch")?.execute([])?;
                }
                apply.memory.add_parts(connection, batch)?;
                apply.memory.locks.apply(batch);
                Ok(Applied { outcome: Ok(apply.committed), changes: apply.changes, records: apply.records })
            }
            Err(Stop::Refused(refusal)) => {
                if is_saved {
                    apply.memory.forget_rows();
                    connection.prepare_cached("ROLLBACK TO batch")?.execute([])?;
                    connection.prepare_cached("RELEASE batch")?.execute([])?;
                }
                Ok(Applied { outcome: Err(refusal), changes: Vec::new(), records: Vec::new() })
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Preconditions on the state before the batch, then the leases.
    fn judge(&mut self, index: &Index, batch: &Batch) -> Result<(), Stop> {
        for (at, precondition) in batch.preconditions.iter().enumerate() {
            self.require(index, (batch, precondition), At::Precondition(at))?;
        }
        if !index.holds_all(self.tenant, &batch.operations) {
            return Err(Stop::Refused(CommitError::LeaseLost));
        }
        self.memory.locks.judge(batch).map_err(Stop::Refused)
    }

    fn require(&mut self, index: &Index, (batch, precondition): (&Batch, &Precondition), at: At) -> Result<(), Stop> {
        let holds = match precondition {
            Precondition::RecordVersion { kind, id, version } => self.version(kind, id)? == Some(*version),
            Precondition::RecordAbsent { kind, id } => self.version(kind, id)?.is_none(),
            Precondition::AliasFree { kind, alias } => self.alias_owner(kind, alias)?.is_none(),
            Precondition::ListIs { kind, newest, total } => self.list(kind)? == (*newest, *total),
            Precondition::CounterBelow { counter, limit } => {
                self.memory.counters.total(self.connection, self.tenant, counter)? < *limit
            }
            Precondition::ValueIs { scope, key, value } => self.value_is(scope, key, value.as_deref())?,
            Precondition::QueueFits { jobs, bytes } => index.fits(batch, *jobs, *bytes),
            Precondition::LeaseHeld(lease) => {
                let held = index.holds(self.tenant, lease);
                return if held { Ok(()) } else { Err(Stop::Refused(CommitError::LeaseLost)) };
            }
        };
        if holds { Ok(()) } else { Err(Stop::Refused(CommitError::Conflict { at })) }
    }

    /// The position of the newest record of a kind, and how many there are.
    fn list(&self, kind: &str) -> Result<(Option<u64>, u64), Stop> {
        let sql = "SELECT max(position), count(*) FROM records WHERE tenant = ?1 AND kind = ?2";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(self.connection.prepare_cached(sql)?.query_row((self.tenant.as_str(), kind), row)?)
    }

    fn operate(&mut self, index: &mut Index, operations: &[Op]) -> Result<(), Stop> {
        for (at, operation) in operations.iter().enumerate() {
            match operation {
                Op::PutRecord { kind, id, alias, value } => self.put_record((kind, id), alias.as_ref(), value, at)?,
                Op::DeleteRecord { kind, id } => {
                    let sql = "DELETE FROM records WHERE tenant = ?1 AND kind = ?2 AND id = ?3";
                    self.connection.prepare_cached(sql)?.execute((self.tenant.as_str(), kind, id))?;
                    self.records.push(RecordChange::Delete { kind: kind.clone(), id: id.clone() });
                }
                Op::Append { emitter, stream, value, keep } => {
                    let (at, name) = ((self.tenant, self.now_ms), (emitter.as_str(), stream.as_str()));
                    let id = self.memory.streams.append(self.connection, at, name, (value, *keep))?;
                    self.committed.entries.push(id);
                }
                Op::DeleteEntries { emitter, stream, first, last, max } => {
                    let (name, range) = ((emitter.as_str(), stream.as_str()), (*first, *last));
                    let removed = self.memory.streams.delete(self.connection, self.tenant, name, range, *max)?;
                    self.committed.removed.push(removed);
                }
                Op::DropEmitter { emitter, max } => {
                    let removed = self.memory.streams.drop_emitter(self.connection, self.tenant, emitter, *max)?;
                    self.committed.removed.push(removed);
                }
                Op::SetValue { scope, key, value, cap_bytes } => self.set_value((scope, key), value, *cap_bytes, at)?,
                Op::RemoveValue { scope, key } => self.remove_value(scope, key)?,
                Op::ClearScope { scope, max } => self.clear_scope(scope, *max)?,
                // Taken and given up in memory once the whole batch is applied.
                Op::Lock { .. } | Op::Unlock { .. } => {}
                Op::Count { counter, amount, expires_ms } => {
                    let amount = (*amount, *expires_ms);
                    let total = self.memory.counters.add(self.connection, self.tenant, counter, amount)?;
                    self.committed.counters.push(total);
                }
                Op::Enqueue(job) => self.enqueue(index.take_job_id(), job)?,
                Op::Acknowledge(lease) => self.acknowledge(*lease)?,
                Op::Reschedule { lease, due_ms, payload, lane_position } => {
                    self.reschedule(*lease, *due_ms, payload.as_deref(), *lane_position)?;
                }
                Op::SetTimer { timer, due_ms, schedule } => self.set_timer(timer, *due_ms, schedule)?,
                Op::ClearTimer { timer } => self.clear_timer(timer)?,
                Op::FinishTick { lease, next_due_ms } => self.finish_tick(lease, *next_due_ms)?,
            }
        }
        Ok(())
    }

    fn version(&self, kind: &str, id: &str) -> Result<Option<u64>, rusqlite::Error> {
        let sql = "SELECT version FROM records WHERE tenant = ?1 AND kind = ?2 AND id = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((self.tenant.as_str(), kind, id), |row| row.get(0)).optional()
    }

    fn alias_owner(&self, kind: &str, alias: &str) -> Result<Option<String>, rusqlite::Error> {
        let sql = "SELECT id FROM records WHERE tenant = ?1 AND kind = ?2 AND alias = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((self.tenant.as_str(), kind, alias), |row| row.get(0)).optional()
    }

    fn put_record(&mut self, name: (&str, &str), alias: Option<&String>, value: &Bytes, at: usize) -> Result<(), Stop> {
        let (kind, id) = name;
        if let Some(alias) = alias
            && self.alias_owner(kind, alias)?.is_some_and(|owner| owner != id)
        {
            return Err(Stop::Refused(CommitError::Conflict { at: At::Operation(at) }));
        }
        let sql = "INSERT INTO records (tenant, kind, id, alias, version, value) VALUES (?1, ?2, ?3, ?4, 1, ?5)
             ON CONFLICT (tenant, kind, id)
             DO UPDATE SET alias = excluded.alias, version = version + 1, value = excluded.value
             RETURNING version";
        let mut statement = self.connection.prepare_cached(sql)?;
        let version = statement.query_row((self.tenant.as_str(), kind, id, alias, &value[..]), |row| row.get(0))?;
        self.committed.versions.push(version);
        let (kind, id, alias, value) = (kind.to_owned(), id.to_owned(), alias.cloned(), value.clone());
        self.records.push(RecordChange::Put { kind, id, alias, version, value });
        Ok(())
    }

    fn scope(&self, scope: &str) -> Result<Option<(i64, u64)>, rusqlite::Error> {
        let sql = "SELECT scope, size_bytes FROM scopes WHERE tenant = ?1 AND name = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row((self.tenant.as_str(), scope), |row| Ok((row.get(0)?, row.get(1)?))).optional()
    }

    fn value_is(&self, scope: &str, key: &str, value: Option<&[u8]>) -> Result<bool, rusqlite::Error> {
        let sql = "SELECT state.value FROM scopes JOIN state ON state.scope = scopes.scope
             WHERE scopes.tenant = ?1 AND scopes.name = ?2 AND state.key = ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((self.tenant.as_str(), scope, key))?;
        match rows.next()? {
            Some(row) => Ok(value == Some(row.get_ref(0)?.as_bytes()?)),
            None => Ok(value.is_none()),
        }
    }

    fn value_size(&self, scope: i64, key: &str) -> Result<u64, rusqlite::Error> {
        let sql = "SELECT length(value) FROM state WHERE scope = ?1 AND key = ?2";
        let size: Option<u64> =
            self.connection.prepare_cached(sql)?.query_row((scope, key), |row| row.get(0)).optional()?;
        Ok(size.map_or(0, |value| value + bytes(key)))
    }

    fn resize_scope(&self, scope: i64, size_bytes: u64) -> Result<(), rusqlite::Error> {
        let sql = if size_bytes == 0 {
            "DELETE FROM scopes WHERE scope = ?1 AND ?2 = 0"
        } else {
            "UPDATE scopes SET size_bytes = ?2 WHERE scope = ?1"
        };
        self.connection.prepare_cached(sql)?.execute((scope, size_bytes))?;
        Ok(())
    }

    fn set_value(&mut self, name: (&str, &str), value: &[u8], cap_bytes: u64, at: usize) -> Result<(), Stop> {
        let (scope_name, key) = name;
        let (scope, before) = match self.scope(scope_name)? {
            Some(found) => found,
            None => {
                let sql = "INSERT INTO scopes (tenant, name, size_bytes) VALUES (?1, ?2, 0)";
                (self.connection.prepare_cached(sql)?.insert((self.tenant.as_str(), scope_name))?, 0)
            }
        };
        let size_bytes = before - self.value_size(scope, key)? + bytes(key) + bytes(value);
        if size_bytes > cap_bytes && size_bytes > before {
            return Err(Stop::Refused(CommitError::OverCap { operation: at, size_bytes, cap_bytes }));
        }
        let sql = "INSERT INTO state (scope, key, value) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET value = excluded.value";
        self.connection.prepare_cached(sql)?.execute((scope, key, value))?;
        self.resize_scope(scope, size_bytes)?;
        Ok(())
    }

    fn remove_value(&self, scope: &str, key: &str) -> Result<(), rusqlite::Error> {
        let Some((scope, before)) = self.scope(scope)? else { return Ok(()) };
        let size_bytes = before - self.value_size(scope, key)?;
        self.connection.prepare_cached("DELETE FROM state WHERE scope = ?1 AND key = ?2")?.execute((scope, key))?;
        self.resize_scope(scope, size_bytes)
    }

    fn clear_scope(&mut self, scope: &str, max: u32) -> Result<(), rusqlite::Error> {
        let mut removed = 0;
        if let Some((scope, before)) = self.scope(scope)? {
            let sql = "DELETE FROM state WHERE scope = ?1 AND key IN
                 (SELECT key FROM state WHERE scope = ?1 LIMIT ?2)
                 RETURNING length(CAST(key AS BLOB)) + length(value)";
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query((scope, max))?;
            let mut size_bytes = before;
            while let Some(row) = rows.next()? {
                size_bytes -= row.get::<_, u64>(0)?;
                removed += 1;
            }
            self.resize_scope(scope, size_bytes)?;
        }
        self.committed.removed.push(removed);
        Ok(())
    }

    fn enqueue(&mut self, id: JobId, job: &Enqueue) -> Result<(), rusqlite::Error> {
        let entry = match job.entry {
            Some(EntryRef::InBatch(index)) => self.committed.entries.get(index).copied(),
            Some(EntryRef::Id(id)) => Some(id),
            None => None,
        };
        let sql =
            "INSERT INTO jobs (job, tenant, lane, due_ms, attempt, entry, payload) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6)";
        let entry = entry.map(|entry| entry.packed());
        let row = (id.0, self.tenant.as_str(), job.lane.as_deref(), job.due_ms, entry, &job.payload[..]);
        self.connection.prepare_cached(sql)?.execute(row)?;
        self.committed.jobs.push(id);
        // The hold is not in the row: a process that opens the file later finds the job due.
        let (lane, due_ms) = (job.lane.clone(), job.available_ms());
        self.changes.push(Change::Enqueue { job: id, lane, due_ms, bytes: bytes(&job.payload) });
        Ok(())
    }

    fn acknowledge(&mut self, lease: JobLease) -> Result<(), rusqlite::Error> {
        self.connection.prepare_cached("DELETE FROM jobs WHERE job = ?1")?.execute([lease.job.0])?;
        self.changes.push(Change::Remove(lease.job));
        Ok(())
    }

    fn reschedule(
        &mut self,
        lease: JobLease,
        due_ms: u64,
        payload: Option<&[u8]>,
        lane_position: LanePosition,
    ) -> Result<(), rusqlite::Error> {
        let sql = "UPDATE jobs SET due_ms = ?2, attempt = attempt + 1, payload = coalesce(?3, payload),
             lane = CASE WHEN ?4 THEN NULL ELSE lane END WHERE job = ?1";
        let leaves = lane_position == LanePosition::Leave;
        self.connection.prepare_cached(sql)?.execute((lease.job.0, due_ms, payload, leaves))?;
        let bytes = payload.map(bytes);
        self.changes.push(Change::Reschedule { job: lease.job, due_ms, bytes, lane_position });
        Ok(())
    }

    fn set_timer(&mut self, timer: &str, due_ms: u64, schedule: &[u8]) -> Result<(), rusqlite::Error> {
        let sql = "INSERT INTO timers (tenant, timer, due_ms, schedule) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET due_ms = excluded.due_ms, schedule = excluded.schedule";
        self.connection.prepare_cached(sql)?.execute((self.tenant.as_str(), timer, due_ms, schedule))?;
        self.changes.push(Change::SetTimer { timer: timer.to_owned(), due_ms });
        Ok(())
    }

    fn clear_timer(&mut self, timer: &str) -> Result<(), rusqlite::Error> {
        let sql = "DELETE FROM timers WHERE tenant = ?1 AND timer = ?2";
        self.connection.prepare_cached(sql)?.execute((self.tenant.as_str(), timer))?;
        self.changes.push(Change::ClearTimer { timer: timer.to_owned() });
        Ok(())
    }

    fn finish_tick(&mut self, lease: &TimerLease, next_due_ms: Option<u64>) -> Result<(), rusqlite::Error> {
        let Some(due_ms) = next_due_ms else { return self.clear_timer(&lease.timer) };
        let sql = "UPDATE timers SET due_ms = ?3 WHERE tenant = ?1 AND timer = ?2";
        self.connection.prepare_cached(sql)?.execute((self.tenant.as_str(), &lease.timer, due_ms))?;
        self.changes.push(Change::SetTimer { timer: lease.timer.clone(), due_ms });
        Ok(())
    }
}

fn can_fail_half_way(operation: &Op) -> bool {
    matches!(operation, Op::SetValue { .. } | Op::PutRecord { alias: Some(_), .. })
}

fn bytes(part: impl AsRef<[u8]>) -> u64 {
    u64::try_from(part.as_ref().len()).unwrap_or(u64::MAX)
}
