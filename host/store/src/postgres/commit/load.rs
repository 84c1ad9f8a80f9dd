//! Loads what a group needs, in one round trip: the keys of its maps are the questions.

use std::collections::HashMap;

use bytes::Bytes;
use tokio_postgres::Row;

use super::statements as sql;
use super::tenant::{Emitter, InLane, JobRow, List, Locked, Owned, Pair, RecordRow, TenantRow, TimerRow, Value};
use crate::postgres::link::{Connection, Question};
use crate::postgres::rows::{Fields, bytes, count, name, optional_count, optional_name, tenant};
use crate::{Batch, EntryId, Error, Op, Tenant};

/// A group of batches and what was loaded for them.
pub(super) struct Loaded {
    pub(super) owned: Vec<Owned>,
    by_tenant: HashMap<Tenant, usize>,
    /// Jobs that are settled, or said to be leased.
    settled: Vec<i64>,
    new_jobs: i64,
    pub(super) job_ids: std::vec::IntoIter<i64>,
    /// Under which it can be asked later whether it was committed.
    pub(super) transaction: String,
}

/// Names to be asked for, in columns, with where the answers go.
struct Asked<Key> {
    tenants: Vec<String>,
    first: Vec<Vec<u8>>,
    second: Vec<Vec<u8>>,
    keys: Vec<(usize, Key)>,
}

/// Everything that a group asks for by name.
struct Asking {
    records: Asked<Pair>,
    aliases: Asked<Pair>,
    lists: Asked<String>,
    counters: Asked<String>,
    scopes: Asked<String>,
    values: Asked<Pair>,
    locks: Asked<String>,
    lanes: Asked<String>,
    timers: Asked<String>,
    emitters: Asked<String>,
    streams: Asked<Pair>,
}

type Answers<'rows> = std::slice::Iter<'rows, Row>;

// === impl Asking ===

impl Asking {
    fn of(group: &Loaded) -> Self {
        let pair = |key: &Pair| key.clone();
        let alone = |key: &String| (key.clone(), String::new());
        Self {
            records: group.asked(|owned| owned.records.keys().cloned().collect(), pair),
            aliases: group.asked(|owned| owned.aliases.keys().cloned().collect(), pair),
            lists: group.asked(|owned| owned.lists.keys().cloned().collect(), alone),
            counters: group.asked(|owned| owned.counters.keys().cloned().collect(), alone),
            scopes: group.asked(|owned| owned.scopes.keys().cloned().collect(), alone),
            values: group.asked(|owned| owned.values.keys().cloned().collect(), pair),
            locks: group.asked(|owned| owned.locks.keys().cloned().collect(), alone),
            lanes: group.asked(|owned| owned.lanes.keys().cloned().collect(), alone),
            timers: group.asked(|owned| owned.timers.keys().cloned().collect(), alone),
            emitters: group.asked(|owned| owned.emitters.keys().cloned().collect(), alone),
            streams: group.asked(|owned| owned.streams.keys().cloned().collect(), pair),
        }
    }
}

// === impl Asked ===

impl<Key> Asked<Key> {
    fn new() -> Self {
        Self { tenants: Vec::new(), first: Vec::new(), second: Vec::new(), keys: Vec::new() }
    }

    fn add(&mut self, place: usize, owned: &Owned, names: Pair, key: Key) {
        self.tenants.push(owned.tenant.as_str().to_owned());
        self.first.push(names.0.into_bytes());
        self.second.push(names.1.into_bytes());
        self.keys.push((place, key));
    }

    /// By tenant and one name.
    fn one(&self, statement: &'static str) -> Option<Question<'static>> {
        let asked = || Question::of(statement).with(self.tenants.clone()).with(self.first.clone());
        (!self.keys.is_empty()).then(asked)
    }

    /// By tenant and two names.
    fn two(&self, statement: &'static str) -> Option<Question<'static>> {
        Some(self.one(statement)?.with(self.second.clone()))
    }

    fn key(&self, row: &Row) -> Result<&(usize, Key), Error> {
        let place: i64 = row.field(0)?;
        let place = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
        place.and_then(|place| self.keys.get(place)).ok_or(Error::PostgresAnswer)
    }
}

// === impl Loaded ===

impl Loaded {
    pub(super) fn new(batches: &[&Batch], partitions: u16) -> Self {
        let mut loaded = Self {
            owned: Vec::new(),
            by_tenant: HashMap::new(),
            settled: Vec::new(),
            new_jobs: 0,
            job_ids: Vec::new().into_iter(),
            transaction: String::new(),
        };
        for batch in batches {
            let next = loaded.owned.len();
            let place = *loaded.by_tenant.entry(batch.tenant.clone()).or_insert(next);
            if place == next {
                loaded.owned.push(Owned::new(&batch.tenant, partitions));
            }
            if let Some(owned) = loaded.owned.get_mut(place) {
                owned.need(batch, &mut loaded.settled);
            }
            let jobs = batch.operations.iter().filter(|operation| matches!(operation, Op::Enqueue(_))).count();
            loaded.new_jobs += i64::try_from(jobs).unwrap_or(i64::MAX);
        }
        loaded
    }

    pub(super) fn of(&mut self, tenant: &Tenant) -> Option<&mut Owned> {
        let place = *self.by_tenant.get(tenant)?;
        self.owned.get_mut(place)
    }

    pub(super) fn tenants(&self) -> (Vec<String>, Vec<i32>) {
        let mut tenants: Vec<_> =
            self.owned.iter().map(|owned| (owned.tenant.as_str().to_owned(), owned.part)).collect();
        // Hosts that make the same ones at once do not wait for each other in a circle.
        tenants.sort();
        tenants.into_iter().unzip()
    }

    /// Begins the transaction and takes the locks of its tenants. False when one of them has no row yet.
    pub(super) async fn load(&mut self, connection: &Connection) -> Result<bool, Error> {
        let asking = Asking::of(self);
        let mut questions = vec![
            Question::of(sql::BEGIN),
            Question::of(sql::NUMBER),
            Question::of(sql::LOCK_TENANTS).with(self.tenants().0),
        ];
        let optional = self.questions(&asking);
        let is_asked: Vec<bool> = optional.iter().map(Option::is_some).collect();
        questions.extend(optional.into_iter().flatten());
        let mut answers = connection.ask_all(questions).await?.into_iter().skip(1);
        let number = answers.next().and_then(|rows| rows.into_iter().next()).ok_or(Error::PostgresAnswer)?;
        self.transaction = number.field(0)?;
        if !self.take_tenants(&answers.next().unwrap_or_default())? {
            return Ok(false);
        }
        let mut answers =
            is_asked.into_iter().map(|is_asked| if is_asked { answers.next().unwrap_or_default() } else { Vec::new() });
        let mut next = || answers.next().unwrap_or_default();
        self.take_records(&asking, &mut next)?;
        self.take_values(&asking, &mut next)?;
        self.take_work(&asking, &mut next)?;
        self.take_streams(&asking, &mut next)?;
        Ok(true)
    }

    /// In the order in which they are taken.
    fn questions(&self, asking: &Asking) -> Vec<Option<Question<'static>>> {
        let compared: Vec<bool> = asking.values.keys.iter().map(|(place, key)| self.is_compared(*place, key)).collect();
        let settled = || (!self.settled.is_empty()).then(|| self.settled.clone());
        vec![
            asking.records.two(sql::RECORDS),
            asking.aliases.two(sql::ALIASES),
            asking.lists.one(sql::LISTS),
            asking.counters.one(sql::COUNTERS),
            asking.scopes.one(sql::SCOPES),
            asking.values.two(sql::VALUES).map(|question| question.with(compared)),
            asking.locks.one(sql::LOCKS),
            settled().map(|jobs| Question::of(sql::JOBS).with(jobs)),
            asking.lanes.one(sql::LANES),
            settled().map(|jobs| Question::of(sql::LANES_OF_JOBS).with(jobs)),
            (self.new_jobs > 0).then(|| Question::of(sql::JOB_IDS).with(self.new_jobs)),
            asking.timers.one(sql::TIMERS),
            asking.emitters.one(sql::EMITTERS),
            asking.emitters.one(sql::FOLLOWED),
            asking.streams.two(sql::STREAMS),
        ]
    }

    fn take_records(&mut self, asking: &Asking, next: &mut impl FnMut() -> Vec<Row>) -> Result<(), Error> {
        self.take(&asking.records, &next(), |owned, key, row| {
            let alias = optional_name(row, 3)?;
            let found = RecordRow { version: row.field(1)?, position: row.field(2)?, alias, value: Bytes::new() };
            owned.records.load(key.clone(), Some(found));
            Ok(())
        })?;
        self.take(&asking.aliases, &next(), |owned, key, row| {
            owned.aliases.load(key.clone(), Some(name(row, 1)?));
            Ok(())
        })?;
        self.take(&asking.lists, &next(), |owned, key, row| {
            owned.lists.insert(key.clone(), List { newest: row.field(1)?, total: row.field(2)? });
            Ok(())
        })
    }

    fn take_values(&mut self, asking: &Asking, next: &mut impl FnMut() -> Vec<Row>) -> Result<(), Error> {
        self.take(&asking.counters, &next(), |owned, key, row| {
            owned.counters.entry(key.clone()).or_default().value = row.field(1)?;
            Ok(())
        })?;
        self.take(&asking.scopes, &next(), |owned, key, row| {
            owned.scopes.load(key.clone(), row.field(1)?);
            Ok(())
        })?;
        self.take(&asking.values, &next(), |owned, key, row| {
            let content: Option<Vec<u8>> = row.field(2)?;
            owned.values.load(key.clone(), Some(Value { length: row.field(1)?, content: content.map(Bytes::from) }));
            Ok(())
        })?;
        self.take(&asking.locks, &next(), |owned, key, row| {
            let lock = Locked { owner: name(row, 2)?, until_ms: count(row, 3)? };
            owned.locks.entry(key.clone()).or_default().insert(name(row, 1)?, lock);
            Ok(())
        })
    }

    fn take_work(&mut self, asking: &Asking, next: &mut impl FnMut() -> Vec<Row>) -> Result<(), Error> {
        self.take_jobs(next().iter())?;
        self.take(&asking.lanes, &next(), |owned, key, row| owned.take_lane(key, row, 1))?;
        self.take_lanes(next().iter())?;
        let ids: Result<Vec<i64>, Error> = next().iter().map(|row| row.field(0)).collect();
        self.job_ids = ids?.into_iter();
        self.take(&asking.timers, &next(), |owned, key, row| {
            let found = TimerRow { due_ms: 0, schedule: bytes(row, 2)?, token: optional_count(row, 1)? };
            owned.timers.entry(key.clone()).or_default().row = Some(found);
            Ok(())
        })
    }

    fn take_streams(&mut self, asking: &Asking, next: &mut impl FnMut() -> Vec<Row>) -> Result<(), Error> {
        self.take(&asking.emitters, &next(), |owned, key, row| {
            let last = Some(EntryId::unpacked(row.field(1)?));
            owned.emitters.insert(key.clone(), Emitter { last, ..Emitter::default() });
            Ok(())
        })?;
        self.take(&asking.emitters, &next(), |owned, key, _| {
            owned.emitters.entry(key.clone()).or_default().is_followed = true;
            Ok(())
        })?;
        self.take(&asking.streams, &next(), |owned, key, row| {
            let stream = owned.streams.entry(key.clone()).or_default();
            (stream.number, stream.stored) = (Some(row.field(1)?), row.field(2)?);
            Ok(())
        })
    }

    fn is_compared(&self, place: usize, key: &Pair) -> bool {
        self.owned.get(place).is_some_and(|owned| owned.compared.contains(key))
    }

    fn asked<Key>(&self, keys: impl Fn(&Owned) -> Vec<Key>, names: impl Fn(&Key) -> Pair) -> Asked<Key> {
        let mut asked = Asked::new();
        for (place, owned) in self.owned.iter().enumerate() {
            for key in keys(owned) {
                asked.add(place, owned, names(&key), key);
            }
        }
        asked
    }

    fn take<Key>(
        &mut self,
        asked: &Asked<Key>,
        rows: &[Row],
        put: impl Fn(&mut Owned, &Key, &Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for row in rows {
            let (place, key) = asked.key(row)?;
            let owned = self.owned.get_mut(*place).ok_or(Error::PostgresAnswer)?;
            put(owned, key, row)?;
        }
        Ok(())
    }

    /// Whether all were there.
    fn take_tenants(&mut self, rows: &[Row]) -> Result<bool, Error> {
        for row in rows {
            let found = TenantRow {
                positions: row.field(1)?,
                jobs: row.field(2)?,
                job_bytes: row.field(3)?,
                earliest_ms: row.field(4)?,
            };
            if let Some(owned) = tenant(row, 0).ok().and_then(|tenant| self.of(&tenant)) {
                owned.row = found;
            }
        }
        Ok(rows.len() == self.owned.len())
    }

    fn take_jobs(&mut self, rows: Answers<'_>) -> Result<(), Error> {
        for row in rows {
            let (id, token): (i64, i64) = (row.field(0)?, row.field(3)?);
            let token = u64::try_from(token).unwrap_or_default();
            let job = JobRow { lane: optional_name(row, 2)?, token, length: row.field(4)? };
            // One of a tenant that is not in the group is not held by any of its batches.
            if let Some(owned) = self.of(&tenant(row, 1)?) {
                owned.jobs.insert(id, job);
            }
        }
        Ok(())
    }

    fn take_lanes(&mut self, rows: Answers<'_>) -> Result<(), Error> {
        for row in rows {
            let lane = name(row, 1)?;
            if let Some(owned) = self.of(&tenant(row, 0)?) {
                owned.take_lane(&lane, row, 2)?;
            }
        }
        Ok(())
    }
}

impl Owned {
    /// Lanes are asked for by name and by job: each job counts once.
    fn take_lane(&mut self, lane: &str, row: &Row, first: usize) -> Result<(), Error> {
        let found = InLane { id: row.field(first)?, due_ms: row.field(first + 1)? };
        let line = self.lanes.entry(lane.to_owned()).or_default();
        if line.iter().all(|known| known.id != found.id) {
            line.push_back(found);
        }
        Ok(())
    }
}
