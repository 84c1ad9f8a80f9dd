//! Leases: due ticks, and due jobs in the order that `queue.rs` says.
//!
//! A lease call locks the row of its partition, and the rows of the tenants it looks at; which job is next is then decided here, step for
//! step as in memory (`turns.rs`). Leases need not be on disk before they are given: what a crash takes back is leased again, under a token
//! that no other lease has.

mod extend;
mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::turns::{Heads, Turns};
use super::link::{Connection, Line, Place, Question};
use super::rows::{Fields, bytes, count, name, number, optional_count, optional_name, tenant};
use crate::{
    EntryId, Error, Job, JobId, JobLease, LeaseRequest, Looked, Next, Partition, Shares, Tenant, Tick, TimerLease,
};

pub(super) use self::extend::{Extensions, Held};

const NOT_ON_DISK: &str = "SET LOCAL synchronous_commit = off";
const LOCK_PARTS: &str = "SELECT part, turns FROM parts WHERE part = ANY($1) ORDER BY part FOR UPDATE";
/// Tenants on the ring, and those whose time has come: in the order of names, as commits take them.
const LOCK_DUE: &str = "SELECT tenant, part, turn, earliest_ms FROM tenants WHERE tenant IN (SELECT tenant FROM tenants \
     WHERE part = ANY($1) AND (turn IS NOT NULL OR earliest_ms <= $2) ORDER BY turn NULLS LAST, earliest_ms LIMIT $3) ORDER BY tenant FOR UPDATE";
const HEADS: &str = "SELECT t.tenant, h.id, h.available_ms FROM unnest($1::text[]) t(tenant) CROSS JOIN LATERAL \
     (SELECT id, available_ms FROM jobs j WHERE j.tenant = t.tenant AND j.available_ms IS NOT NULL ORDER BY available_ms, id LIMIT $2) h \
     ORDER BY t.tenant, h.available_ms, h.id";
/// Of each partition the tenants that wait, by the time that is noted, which may be too early, and the time of their earliest head.
const WAITING: &str = "SELECT p.part, w.earliest_ms, w.head_ms FROM unnest($1::integer[]) p(part) CROSS JOIN LATERAL \
     (SELECT t.earliest_ms, (SELECT min(j.available_ms) FROM jobs j WHERE j.tenant = t.tenant AND j.available_ms IS NOT NULL) AS head_ms \
     FROM tenants t WHERE t.part = p.part AND t.turn IS NULL AND t.earliest_ms > $2 ORDER BY t.earliest_ms LIMIT 9) w \
     ORDER BY p.part, w.earliest_ms";
const LEASE_JOBS: &str = "UPDATE jobs j SET token = q.token, available_ms = $3 FROM unnest($1::bigint[], $2::bigint[]) q(id, token) \
     WHERE j.id = q.id RETURNING j.id, j.lane, j.due_ms, j.attempt, j.entry, j.payload";
const SETTLE_TENANTS: &str = "UPDATE tenants t SET turn = q.turn, earliest_ms = q.earliest_ms \
     FROM unnest($1::text[], $2::bigint[], $3::bigint[]) q(tenant, turn, earliest_ms) WHERE t.tenant = q.tenant";
const SETTLE_PARTS: &str =
    "UPDATE parts p SET turns = q.turns FROM unnest($1::integer[], $2::bigint[]) q(part, turns) WHERE p.part = q.part";
const LEASE_TIMERS: &str = "WITH due AS (SELECT tenant, timer, available_ms FROM timers WHERE part = ANY($1) AND available_ms <= $2 \
     ORDER BY available_ms, tenant, timer LIMIT $3 FOR UPDATE SKIP LOCKED), \
     numbered AS (SELECT tenant, timer, row_number() OVER (ORDER BY available_ms, tenant, timer) AS n FROM due) \
     UPDATE timers t SET available_ms = $4, token = $5::bigint + q.n FROM numbered q WHERE t.tenant = q.tenant AND t.timer = q.timer \
     RETURNING q.n, t.tenant, t.timer, t.token, t.due_ms, t.schedule";
const NEXT_TIMERS: &str = "SELECT p.part, n.available_ms FROM unnest($1::integer[]) p(part) CROSS JOIN LATERAL \
     (SELECT min(available_ms) AS available_ms FROM timers t WHERE t.part = p.part) n";

/// Tenants of a partition that wait and whose heads are looked at, for the time to ask again.
const VERIFIED: usize = 8;

pub(super) struct Leases {
    line: Line,
    ticks: Line,
}

/// When each partition has work again.
pub(super) type NextDue = BTreeMap<Partition, Option<u64>>;

struct Locked {
    turns: BTreeMap<Partition, Turns>,
    /// As they were noted.
    noted: BTreeMap<Tenant, (Option<i64>, Option<i64>)>,
}

// === impl Leases ===

impl Leases {
    pub(super) fn new(place: &Arc<Place>) -> Self {
        Self { line: Line::new(place.clone()), ticks: Line::new(place.clone()) }
    }

    pub(super) async fn ticks(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
    ) -> Result<(Vec<Tick>, NextDue), Error> {
        let parts = numbers(partitions);
        let lease = Question::of(LEASE_TIMERS)
            .with(parts.clone())
            .with(number(request.now_ms))
            .with(i64::try_from(request.bounded_max()).unwrap_or_default())
            .with(number(request.until_ms()))
            .with(token()?);
        let questions = vec![Question::of(NOT_ON_DISK), lease, Question::of(NEXT_TIMERS).with(parts)];
        let mut answers = self.ticks.transact(questions).await?.into_iter().skip(1);
        let mut ticks = BTreeMap::new();
        for row in answers.next().unwrap_or_default() {
            let lease = TimerLease { timer: name(&row, 2)?, token: count(&row, 3)? };
            let tick = Tick { tenant: tenant(&row, 1)?, lease, due_ms: count(&row, 4)?, schedule: bytes(&row, 5)? };
            ticks.insert(row.field::<i64>(0)?, tick);
        }
        let mut next = NextDue::new();
        for row in answers.next().unwrap_or_default() {
            next.insert(partition(row.field(0)?), optional_count(&row, 1)?);
        }
        Ok((ticks.into_values().collect(), next))
    }

    /// Partitions have their turn in the order in which they are given.
    pub(super) async fn jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<(Vec<Job>, NextDue), Error> {
        let _turn = self.line.turn().await;
        let leased = self.line.within(async {
            let connection = self.line.connection().await?;
            self.lease_jobs(&connection, partitions, request, shares).await
        });
        let leased = leased.await;
        if leased.is_err() {
            self.line.give_up().await;
        }
        leased
    }

    async fn lease_jobs(
        &self,
        connection: &Connection,
        partitions: &[Partition],
        request: LeaseRequest,
        mut shares: Shares,
    ) -> Result<(Vec<Job>, NextDue), Error> {
        let (mut locked, mut next) = self.lock(connection, partitions, request, &shares).await?;
        let (mut leased, mut left) = (Vec::new(), request.bounded_max());
        for partition in partitions {
            let Some(turns) = locked.turns.get_mut(partition) else { continue };
            let (jobs, has_more) = turns.lease((request, left), &mut shares);
            left -= jobs.len();
            leased.extend(jobs);
            let earliest = turns.waiting_ms().into_iter().chain(next.get(partition).copied().flatten()).min();
            next.insert(*partition, if has_more { Some(request.now_ms) } else { earliest });
        }
        let tokens = leased.iter().map(|_| token()).collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<i64> = leased.iter().map(|(_, id)| *id).collect();
        let mut questions = Vec::new();
        if !ids.is_empty() {
            let until_ms = number(request.until_ms());
            questions.push(Question::of(LEASE_JOBS).with(ids).with(tokens.clone()).with(until_ms));
        }
        questions.extend(locked.settled());
        questions.push(Question::of("COMMIT"));
        let rows = connection.ask_all(questions).await?.into_iter().next().unwrap_or_default();
        let mut by_id = BTreeMap::new();
        if !leased.is_empty() {
            for row in rows {
                by_id.insert(row.field::<i64>(0)?, row);
            }
        }
        let mut jobs = Vec::new();
        for ((tenant, id), token) in leased.into_iter().zip(tokens) {
            let row = by_id.get(&id).ok_or(Error::PostgresAnswer)?;
            let job = JobId(u64::try_from(id).unwrap_or_default());
            jobs.push(Job {
                tenant,
                lease: JobLease { job, token: u64::try_from(token).unwrap_or_default() },
                lane: optional_name(row, 1)?,
                due_ms: count(row, 2)?,
                attempt: u32::try_from(row.field::<i32>(3)?).unwrap_or_default(),
                payload: bytes(row, 5)?,
                entry: row.field::<Option<i64>>(4)?.map(EntryId::unpacked),
            });
        }
        Ok((jobs, next))
    }

    /// Takes what is needed for a look at the partitions, and tells when those that wait are due.
    async fn lock(
        &self,
        connection: &Connection,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: &Shares,
    ) -> Result<(Locked, NextDue), Error> {
        let (parts, now_ms) = (numbers(partitions), number(request.now_ms));
        let most = request.bounded_max() + shares.under_way.len() + 1;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let first = vec![
            Question::of("BEGIN"),
            Question::of(NOT_ON_DISK),
            Question::of(LOCK_PARTS).with(parts.clone()),
            Question::of(LOCK_DUE).with(parts.clone()).with(now_ms).with(most),
        ];
        let mut answers = connection.ask_all(first).await?.into_iter().skip(2);
        let mut locked = Locked { turns: BTreeMap::new(), noted: BTreeMap::new() };
        for row in answers.next().unwrap_or_default() {
            locked.turns.insert(partition(row.field(0)?), Turns::new(row.field(1)?));
        }
        let mut found: BTreeMap<Tenant, (Partition, Option<i64>)> = BTreeMap::new();
        for row in answers.next().unwrap_or_default() {
            let (tenant, turn) = (tenant(&row, 0)?, row.field(2)?);
            locked.noted.insert(tenant.clone(), (turn, row.field(3)?));
            found.insert(tenant, (partition(row.field(1)?), turn));
        }
        let each = turns::heads_of_each(request.bounded_max(), found.len());
        let names: Vec<String> = found.keys().map(ToString::to_string).collect();
        let second = vec![
            Question::of(HEADS).with(names).with(i64::try_from(each).unwrap_or(i64::MAX)),
            Question::of(WAITING).with(parts).with(now_ms),
        ];
        let mut answers = connection.ask_all(second).await?.into_iter();
        let mut heads: BTreeMap<Tenant, Heads> = BTreeMap::new();
        for row in answers.next().unwrap_or_default() {
            let (at, id) = (count(&row, 2)?, row.field(1)?);
            heads.entry(tenant(&row, 0)?).or_insert_with(|| Heads::new(each)).add(at, id);
        }
        for (tenant, (partition, turn)) in found {
            let heads = heads.remove(&tenant).unwrap_or_else(|| Heads::new(each));
            if let Some(turns) = locked.turns.get_mut(&partition) {
                turns.add(tenant, turn, heads);
            }
        }
        for turns in locked.turns.values_mut() {
            turns.wake(request.now_ms);
        }
        Ok((locked, waiting(&answers.next().unwrap_or_default())?))
    }
}

/// The earliest of each partition. What is noted too early is no reason to ask, as far as it was looked at.
fn waiting(rows: &[tokio_postgres::Row]) -> Result<NextDue, Error> {
    let (mut next, mut seen) = (NextDue::new(), BTreeMap::<Partition, usize>::new());
    for row in rows {
        let partition = partition(row.field(0)?);
        let seen = seen.entry(partition).or_default();
        let due_ms = if *seen < VERIFIED { optional_count(row, 2)? } else { optional_count(row, 1)? };
        *seen += 1;
        let earliest = next.entry(partition).or_insert(None);
        *earliest = earliest.iter().copied().chain(due_ms).min();
    }
    Ok(next)
}

// === impl Locked ===

impl Locked {
    /// What changed of the rows that are locked.
    fn settled(&self) -> Vec<Question<'static>> {
        let (mut tenants, mut turns, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let (mut parts, mut counts) = (Vec::new(), Vec::new());
        for (partition, of_partition) in &self.turns {
            let (settled, count) = of_partition.settled();
            for (tenant, turn, earliest_ms) in settled {
                let earliest_ms = earliest_ms.map(number);
                if self.noted.get(&tenant) != Some(&(turn, earliest_ms)) {
                    tenants.push(tenant.to_string());
                    turns.push(turn);
                    times.push(earliest_ms);
                }
            }
            if let Some(count) = count {
                parts.push(i32::from(partition.index()));
                counts.push(count);
            }
        }
        let mut questions = Vec::new();
        if !tenants.is_empty() {
            questions.push(Question::of(SETTLE_TENANTS).with(tenants).with(turns).with(times));
        }
        if !parts.is_empty() {
            questions.push(Question::of(SETTLE_PARTS).with(parts).with(counts));
        }
        questions
    }
}

/// When each partition has work again, of either kind.
pub(super) fn looked(partitions: &[Partition], ticks: &NextDue, jobs: &NextDue) -> Vec<Looked> {
    let due = |partition: &Partition| {
        let earliest = [ticks, jobs].into_iter().filter_map(|next| next.get(partition).copied().flatten()).min();
        Looked { partition: *partition, next: Next::Due(earliest) }
    };
    partitions.iter().map(due).collect()
}

fn numbers(partitions: &[Partition]) -> Vec<i32> {
    partitions.iter().map(|partition| i32::from(partition.index())).collect()
}

fn partition(number: i32) -> Partition {
    Partition::at(u16::try_from(number).unwrap_or_default())
}

/// Random, so that one which a crash took back is never given again; some below the greatest, because ticks count on from it.
fn token() -> Result<i64, Error> {
    Ok(i64::try_from(getrandom::u64()? >> 2).unwrap_or_default() + 1)
}
