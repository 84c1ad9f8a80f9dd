//! What a move between stores reads from PostgreSQL and writes to it.
//!
//! It is read as of one moment. What is counted from the rows (sizes, places, which job is the first of its lane) is put right when all of
//! them are in.

use futures_util::{StreamExt, pin_mut};
use tokio_postgres::Row as Found;

use super::Postgres;
use super::link::{Connection, Question};
use super::rows::{Fields, bytes, count, name, number, optional_name, tenant};
use crate::transfer::Row;
use crate::{EntryId, Error, LAYOUT};

const MOVING: &str = "SELECT moving FROM installation";
const IS_USED: &str = "SELECT EXISTS (SELECT 1 FROM tenants) OR EXISTS (SELECT 1 FROM directory)";
const MARK: &str = "UPDATE installation SET moving = $1";

// In an order that stays the same as long as nothing is written; a stream comes before its entries.
const DIRECTORY: &str = "SELECT key, value FROM directory ORDER BY key";
const RECORDS: &str = "SELECT tenant, kind, id, alias, version, value FROM records ORDER BY tenant, kind, position";
const COUNTERS: &str = "SELECT tenant, name, value, expires_ms FROM counters ORDER BY tenant, name";
const VALUES: &str = "SELECT tenant, scope, key, value FROM state ORDER BY tenant, scope, key";
const TIMERS: &str = "SELECT tenant, timer, due_ms, schedule FROM timers ORDER BY tenant, timer";
const JOBS: &str = "SELECT tenant, lane, due_ms, attempt, entry, payload FROM jobs ORDER BY id";
const STREAMS: &str = "SELECT s.tenant, s.emitter, s.name, e.last_entry FROM streams s JOIN emitters e USING (tenant, emitter) \
     ORDER BY s.tenant, s.emitter, s.name";
const ENTRIES: &str = "SELECT s.tenant, s.emitter, s.name, e.id, e.value FROM streams s JOIN entries e USING (stream) \
     ORDER BY s.tenant, s.emitter, s.name, e.id";

const PUT_DIRECTORY: &str =
    "INSERT INTO directory VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const PUT_LAYOUT: &str = "UPDATE installation SET layout = $1";
const PUT_TENANT: &str = "INSERT INTO tenants (tenant, part) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const PUT_RECORD: &str = "INSERT INTO records (tenant, kind, id, alias, version, position, value) VALUES ($1, $2, $3, $4, $5, nextval('job_ids'), $6)";
const PUT_ALIAS: &str = "INSERT INTO aliases (tenant, kind, alias, id) VALUES ($1, $2, $3, $4)";
const PUT_COUNTER: &str = "INSERT INTO counters (tenant, name, value, expires_ms) VALUES ($1, $2, $3, $4)";
const PUT_VALUE: &str = "INSERT INTO state (tenant, scope, key, value) VALUES ($1, $2, $3, $4)";
const PUT_TIMER: &str =
    "INSERT INTO timers (tenant, timer, part, due_ms, available_ms, schedule) VALUES ($1, $2, $3, $4, $4, $5)";
const PUT_JOB: &str = "INSERT INTO jobs (id, tenant, lane, due_ms, attempt, entry, payload) VALUES (nextval('job_ids'), $1, $2, $3, $4, $5, $6)";
const PUT_EMITTER: &str =
    "INSERT INTO emitters (tenant, emitter, last_entry) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
const PUT_STREAM: &str = "INSERT INTO streams (tenant, emitter, name, stream, entries) VALUES ($1, $2, $3, $4, 0)";
const PUT_ENTRY: &str = "INSERT INTO entries (stream, id, value) SELECT stream, $4, $5 FROM streams WHERE tenant = $1 AND emitter = $2 AND name = $3";

/// Done again, they change nothing.
const COMPLETE: [&str; 4] = [
    "UPDATE streams s SET entries = (SELECT count(*) FROM entries e WHERE e.stream = s.stream)",
    "INSERT INTO scopes (tenant, scope, bytes) SELECT tenant, scope, sum(octet_length(key) + octet_length(value)) FROM state GROUP BY 1, 2 \
     ON CONFLICT (tenant, scope) DO UPDATE SET bytes = excluded.bytes",
    "UPDATE jobs j SET available_ms = due_ms WHERE lane IS NULL OR NOT EXISTS \
     (SELECT 1 FROM jobs b WHERE b.tenant = j.tenant AND b.lane = j.lane AND b.id < j.id)",
    "UPDATE tenants t SET positions = (SELECT coalesce(max(position), 0) FROM records r WHERE r.tenant = t.tenant), \
     jobs = q.jobs, job_bytes = q.job_bytes, earliest_ms = q.earliest_ms FROM (SELECT t.tenant, count(j.id) AS jobs, \
     coalesce(sum(octet_length(j.payload)), 0) AS job_bytes, min(j.available_ms) AS earliest_ms \
     FROM tenants t LEFT JOIN jobs j USING (tenant) GROUP BY t.tenant) q WHERE t.tenant = q.tenant",
];

type Reading = fn(&Found) -> Result<Row, Error>;

/// A server that rows are written to. It counts them together with writing them.
pub(crate) struct Target<'store> {
    store: &'store Postgres,
    connection: Connection,
    applied: i64,
    seen: i64,
}

// === impl Postgres ===

impl Postgres {
    /// Whether a move into this store is unfinished: then no host may use it.
    pub async fn is_moving(&self) -> Result<bool, Error> {
        let rows = self.hosts.ask(Question::of(MOVING)).await?;
        Ok(rows.first().ok_or(Error::PostgresAnswer)?.field::<Option<i64>>(0)?.is_some())
    }

    /// Gives every row, as of one moment.
    pub(crate) async fn read_rows(&self, mut give: impl FnMut(Row)) -> Result<(), Error> {
        // Hosts settle on it together, so it is with them and not in the directory.
        if let Some(layout) = self.stored_layout().await? {
            give(Row::Directory { key: LAYOUT.to_owned(), value: layout.to_string().into() });
        }
        let connection = self.patient().await?;
        connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let kinds: [(&str, Reading); 8] = [
            (DIRECTORY, directory),
            (RECORDS, record),
            (COUNTERS, counter),
            (VALUES, value),
            (TIMERS, timer),
            (JOBS, job),
            (STREAMS, stream),
            (ENTRIES, entry),
        ];
        for (statement, row) in kinds {
            let found = connection.client().query_raw(statement, Vec::<String>::new()).await?;
            pin_mut!(found);
            while let Some(one) = found.next().await {
                give(row(&one?)?);
            }
        }
        connection.run("COMMIT").await
    }

    pub(crate) async fn target(&self) -> Result<Target<'_>, Error> {
        let connection = self.patient().await?;
        let rows = connection.ask(&Question::of(MOVING)).await?;
        let applied: Option<i64> = rows.first().ok_or(Error::PostgresAnswer)?.field(0)?;
        if applied.is_none() {
            let rows = connection.ask(&Question::of(IS_USED)).await?;
            if rows.first().ok_or(Error::PostgresAnswer)?.field(0)? {
                return Err(Error::NotEmpty);
            }
            connection.ask(&Question::of(MARK).with(Some(0_i64))).await?;
        }
        Ok(Target { store: self, connection, applied: applied.unwrap_or_default(), seen: 0 })
    }

    /// For statements that go over everything.
    async fn patient(&self) -> Result<Connection, Error> {
        let connection = self.place.connect().await?;
        connection
            .run(
                "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; RESET enable_seqscan; RESET enable_hashjoin; \
                 RESET enable_mergejoin",
            )
            .await?;
        Ok(connection)
    }
}

// === impl Target ===

impl Target<'_> {
    pub(crate) async fn apply(&mut self, rows: Vec<Row>) -> Result<(), Error> {
        let mut questions = vec![Question::of("BEGIN")];
        for row in &rows {
            self.seen += 1;
            if self.seen > self.applied {
                self.put(row, &mut questions)?;
            }
        }
        if questions.len() == 1 {
            return Ok(());
        }
        questions.push(Question::of(MARK).with(Some(self.seen)));
        questions.push(Question::of("COMMIT"));
        self.connection.ask_all(questions).await?;
        self.applied = self.seen;
        Ok(())
    }

    pub(crate) async fn complete(&mut self) -> Result<(), Error> {
        for statement in COMPLETE {
            self.connection.run(statement).await?;
        }
        self.connection.run("ANALYZE").await
    }

    pub(crate) async fn finish(self) -> Result<(), Error> {
        self.connection.ask(&Question::of(MARK).with(None::<i64>)).await.map(drop)
    }

    fn put<'row>(&self, row: &'row Row, questions: &mut Vec<Question<'row>>) -> Result<(), Error> {
        let part = |tenant: &crate::Tenant| i32::from(tenant.partition(self.store.partitions).index());
        if let Some(tenant) = row.tenant() {
            questions.push(Question::of(PUT_TENANT).with(tenant.as_str()).with(part(tenant)));
        }
        let of = |statement, tenant: &'row crate::Tenant| Question::of(statement).with(tenant.as_str());
        let question = match row {
            Row::Directory { key, value } if key == LAYOUT => {
                let layout = std::str::from_utf8(value).ok().and_then(|text| text.parse::<i32>().ok());
                Question::of(PUT_LAYOUT).with(layout.ok_or(Error::PostgresAnswer)?)
            }
            Row::Directory { key, value } => Question::of(PUT_DIRECTORY).with(key.as_bytes()).with(&value[..]),
            Row::Record { tenant, kind, id, alias, version, value } => {
                let alias = alias.as_ref().map(String::as_bytes);
                if let Some(alias) = alias {
                    let given = of(PUT_ALIAS, tenant).with(kind.as_bytes()).with(alias).with(id.as_bytes());
                    questions.push(given);
                }
                let named = of(PUT_RECORD, tenant).with(kind.as_bytes()).with(id.as_bytes()).with(alias);
                named.with(number(*version)).with(&value[..])
            }
            Row::Stream { tenant, emitter, name, last } => {
                let stream = i64::try_from(getrandom::u64()? >> 1).unwrap_or_default();
                questions.push(of(PUT_EMITTER, tenant).with(emitter.as_bytes()).with(last.packed()));
                of(PUT_STREAM, tenant).with(emitter.as_bytes()).with(name.as_bytes()).with(stream)
            }
            Row::Entry { tenant, emitter, stream, id, value } => {
                let named = of(PUT_ENTRY, tenant).with(emitter.as_bytes()).with(stream.as_bytes());
                named.with(id.packed()).with(&value[..])
            }
            Row::Value { tenant, scope, key, value } => {
                of(PUT_VALUE, tenant).with(scope.as_bytes()).with(key.as_bytes()).with(&value[..])
            }
            Row::Counter { tenant, name, value, expires_ms } => {
                of(PUT_COUNTER, tenant).with(name.as_bytes()).with(*value).with(expires_ms.map(number))
            }
            Row::Job { tenant, lane, due_ms, attempt, entry, payload } => {
                let lane = lane.as_ref().map(String::as_bytes);
                let attempt = i32::try_from(*attempt).unwrap_or(i32::MAX);
                let entry = entry.map(EntryId::packed);
                of(PUT_JOB, tenant).with(lane).with(number(*due_ms)).with(attempt).with(entry).with(&payload[..])
            }
            Row::Timer { tenant, timer, due_ms, schedule } => {
                let named = of(PUT_TIMER, tenant).with(timer.as_bytes()).with(part(tenant));
                named.with(number(*due_ms)).with(&schedule[..])
            }
        };
        questions.push(question);
        Ok(())
    }
}

fn directory(row: &Found) -> Result<Row, Error> {
    Ok(Row::Directory { key: name(row, 0)?, value: bytes(row, 1)? })
}

fn record(row: &Found) -> Result<Row, Error> {
    let (kind, id, alias) = (name(row, 1)?, name(row, 2)?, optional_name(row, 3)?);
    Ok(Row::Record { tenant: tenant(row, 0)?, kind, id, alias, version: count(row, 4)?, value: bytes(row, 5)? })
}

fn counter(row: &Found) -> Result<Row, Error> {
    let expires_ms = row.field::<Option<i64>>(3)?.and_then(|ms| u64::try_from(ms).ok());
    Ok(Row::Counter { tenant: tenant(row, 0)?, name: name(row, 1)?, value: row.field(2)?, expires_ms })
}

fn value(row: &Found) -> Result<Row, Error> {
    Ok(Row::Value { tenant: tenant(row, 0)?, scope: name(row, 1)?, key: name(row, 2)?, value: bytes(row, 3)? })
}

fn timer(row: &Found) -> Result<Row, Error> {
    Ok(Row::Timer { tenant: tenant(row, 0)?, timer: name(row, 1)?, due_ms: count(row, 2)?, schedule: bytes(row, 3)? })
}

fn job(row: &Found) -> Result<Row, Error> {
    Ok(Row::Job {
        tenant: tenant(row, 0)?,
        lane: optional_name(row, 1)?,
        due_ms: count(row, 2)?,
        attempt: u32::try_from(row.field::<i32>(3)?).unwrap_or_default(),
        entry: row.field::<Option<i64>>(4)?.map(EntryId::unpacked),
        payload: bytes(row, 5)?,
    })
}

fn stream(row: &Found) -> Result<Row, Error> {
    let last = EntryId::unpacked(row.field(3)?);
    Ok(Row::Stream { tenant: tenant(row, 0)?, emitter: name(row, 1)?, name: name(row, 2)?, last })
}

fn entry(row: &Found) -> Result<Row, Error> {
    let id = EntryId::unpacked(row.field(3)?);
    Ok(Row::Entry { tenant: tenant(row, 0)?, emitter: name(row, 1)?, stream: name(row, 2)?, id, value: bytes(row, 4)? })
}
