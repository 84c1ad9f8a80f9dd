//! The reads, each on one snapshot of the database.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row};

use super::block::members;
use crate::queue::WaitingHead;
use crate::{
    Entry, EntryId, EntryQuery, Head, Job, JobLease, KeyInfo, Keys, Leased, MAX_PAGE, Order, Page, Record, Records,
    StreamInfo, Tenant, Tick, TimerLease, Values,
};

type Read<Found> = Result<Found, rusqlite::Error>;

pub(super) fn record(
    reader: &Connection,
    tenant: &Tenant,
    kind: &str,
    name: &str,
    is_alias: bool,
) -> Read<Option<Record>> {
    let sql = if is_alias {
        "SELECT id, alias, version, position, value FROM records WHERE tenant = ?1 AND kind = ?2 AND alias = ?3"
    } else {
        "SELECT id, alias, version, position, value FROM records WHERE tenant = ?1 AND kind = ?2 AND id = ?3"
    };
    reader.prepare_cached(sql)?.query_row((tenant.as_str(), kind, name), read_record).optional()
}

pub(super) fn records(reader: &Connection, tenant: &Tenant, kind: &str, page: Page) -> Read<Records> {
    let sql = if page.ascends() {
        "SELECT id, alias, version, position, value FROM records
         WHERE tenant = ?1 AND kind = ?2 AND position > ?3 AND position < ?4 ORDER BY position LIMIT ?5"
    } else {
        "SELECT id, alias, version, position, value FROM records
         WHERE tenant = ?1 AND kind = ?2 AND position > ?3 AND position < ?4 ORDER BY position DESC LIMIT ?5"
    };
    let newer_than = page.before.map_or(-1, signed);
    let older_than = page.after.map_or(i64::MAX, signed);
    let mut statement = reader.prepare_cached(sql)?;
    let bounds = (tenant.as_str(), kind, newer_than, older_than, page.bounded_limit());
    let mut items = statement.query_map(bounds, read_record)?.collect::<Read<Vec<_>>>()?;
    if page.ascends() {
        items.reverse();
    }
    let sql = "SELECT count(*) FROM records WHERE tenant = ?1 AND kind = ?2";
    let total = reader.prepare_cached(sql)?.query_row((tenant.as_str(), kind), |row| row.get(0))?;
    Ok(Records { items, total })
}

pub(super) fn streams(reader: &Connection, tenant: &Tenant, emitter: &str) -> Read<Vec<StreamInfo>> {
    let sql = "SELECT name, count FROM streams WHERE tenant = ?1 AND emitter = ?2 ORDER BY name";
    let mut statement = reader.prepare_cached(sql)?;
    let rows = statement
        .query_map((tenant.as_str(), emitter), |row| Ok(StreamInfo { name: row.get(0)?, count: row.get(1)? }))?;
    rows.collect()
}

pub(super) fn entries(
    reader: &Connection,
    tenant: &Tenant,
    emitter: &str,
    stream: &str,
    query: EntryQuery,
) -> Read<Vec<Entry>> {
    let sql = "SELECT stream, first FROM streams WHERE tenant = ?1 AND emitter = ?2 AND name = ?3";
    let stream: Option<(i64, i64)> = reader
        .prepare_cached(sql)?
        .query_row((tenant.as_str(), emitter, stream), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((stream, oldest)) = stream else { return Ok(Vec::new()) };
    let first = query.first.map_or(oldest, |first| first.packed().max(oldest));
    let last = query.last.map_or(i64::MAX, EntryId::packed);
    // The last of the range may be in a row with a later id.
    let sql = match query.order {
        Order::NewestFirst => {
            "SELECT id, members, value FROM entries WHERE stream = ?1 AND id >= ?2 AND id <= coalesce(
               (SELECT min(id) FROM entries WHERE stream = ?1 AND id >= ?3), ?3) ORDER BY id DESC"
        }
        Order::OldestFirst => {
            "SELECT id, members, value FROM entries WHERE stream = ?1 AND id >= ?2 AND id <= coalesce(
               (SELECT min(id) FROM entries WHERE stream = ?1 AND id >= ?3), ?3) ORDER BY id"
        }
    };
    let limit = query.bounded_limit() as usize;
    let mut found = Vec::new();
    let mut statement = reader.prepare_cached(sql)?;
    let mut rows = statement.query((stream, first, last))?;
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let mut members = members(row.get(0)?, row.get_ref(1)?.as_blob_or_null()?)?;
        members.retain(|member| (first..=last).contains(&member.id));
        if query.order == Order::NewestFirst {
            members.reverse();
        }
        let values = row.get_ref(2)?.as_blob()?;
        for member in members.into_iter().take(limit - found.len()) {
            let value = Bytes::copy_from_slice(member.value(values)?);
            found.push(Entry { id: member.entry_id(), value });
        }
    }
    Ok(found)
}

pub(super) fn last_entry(reader: &Connection, tenant: &Tenant, emitter: &str) -> Read<Option<EntryId>> {
    let sql = "SELECT max(last) FROM streams WHERE tenant = ?1 AND emitter = ?2";
    let last: Option<i64> = reader.prepare_cached(sql)?.query_row((tenant.as_str(), emitter), |row| row.get(0))?;
    Ok(last.map(EntryId::unpacked))
}

pub(super) fn values(reader: &Connection, tenant: &Tenant, scope: &str, keys: &[String]) -> Read<Values> {
    let sql = "SELECT scope, size_bytes FROM scopes WHERE tenant = ?1 AND name = ?2";
    let scope: Option<(i64, u64)> = reader
        .prepare_cached(sql)?
        .query_row((tenant.as_str(), scope), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((scope, size_bytes)) = scope else {
        return Ok(Values { found: vec![None; keys.len()], size_bytes: 0 });
    };
    let mut statement = reader.prepare_cached("SELECT value FROM state WHERE scope = ?1 AND key = ?2")?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        found.push(statement.query_row((scope, key), |row| blob(row, 0)).optional()?);
    }
    Ok(Values { found, size_bytes })
}

pub(super) fn keys(reader: &Connection, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Read<Keys> {
    let sql = "SELECT scope FROM scopes WHERE tenant = ?1 AND name = ?2";
    let scope: Option<i64> =
        reader.prepare_cached(sql)?.query_row((tenant.as_str(), scope), |row| row.get(0)).optional()?;
    let Some(scope) = scope else {
        return Ok(Keys::default());
    };
    let sql = "SELECT key, length(value) FROM state WHERE scope = ?1 AND key > ?2 ORDER BY key LIMIT ?3";
    let mut statement = reader.prepare_cached(sql)?;
    // No key is empty.
    let rows = statement.query_map((scope, after.unwrap_or_default(), limit.min(MAX_PAGE)), |row| {
        Ok(KeyInfo { key: row.get(0)?, size_bytes: row.get(1)? })
    })?;
    let found = rows.collect::<Result<_, _>>()?;
    let sql = "SELECT count(*) FROM state WHERE scope = ?1";
    let total = reader.prepare_cached(sql)?.query_row([scope], |row| row.get(0))?;
    Ok(Keys { found, total })
}

pub(super) fn counters(reader: &Connection, tenant: &Tenant, counters: &[String]) -> Read<Vec<i64>> {
    let mut statement = reader.prepare_cached("SELECT value FROM counters WHERE tenant = ?1 AND name = ?2")?;
    let mut found = Vec::with_capacity(counters.len());
    for counter in counters {
        let value = statement.query_row((tenant.as_str(), counter), |row| row.get(0)).optional()?;
        found.push(value.unwrap_or_default());
    }
    Ok(found)
}

pub(super) fn jobs(reader: &Connection, leased: Leased<(Tenant, JobLease)>) -> Read<Leased<Job>> {
    let sql = "SELECT lane, due_ms, attempt, entry, payload FROM jobs WHERE job = ?1";
    let mut statement = reader.prepare_cached(sql)?;
    let mut items = Vec::with_capacity(leased.items.len());
    for (tenant, lease) in leased.items {
        let job = statement.query_row([lease.job.0], |row| {
            let entry: Option<i64> = row.get(3)?;
            Ok(Job {
                tenant,
                lease,
                lane: row.get(0)?,
                due_ms: row.get(1)?,
                attempt: row.get(2)?,
                payload: blob(row, 4)?,
                entry: entry.map(EntryId::unpacked),
            })
        });
        // Gone already: an older holder finished it in the meantime. Nothing is left to do.
        items.extend(job.optional()?);
    }
    Ok(Leased { items, next_due_ms: leased.next_due_ms })
}

pub(super) fn heads(reader: &Connection, waiting: &[WaitingHead]) -> Read<Vec<Head>> {
    let mut statement = reader.prepare_cached("SELECT attempt, payload FROM jobs WHERE job = ?1")?;
    let mut heads = Vec::with_capacity(waiting.len());
    for WaitingHead { job, available_ms, behind } in waiting {
        let row = statement.query_row([job.0], |row| Ok((row.get(0)?, blob(row, 1)?))).optional()?;
        heads.extend(row.map(|(attempt, payload)| Head {
            available_ms: *available_ms,
            attempt,
            behind: *behind,
            payload,
        }));
    }
    Ok(heads)
}

pub(super) fn ticks(reader: &Connection, leased: Leased<(Tenant, TimerLease)>) -> Read<Leased<Tick>> {
    let sql = "SELECT due_ms, schedule FROM timers WHERE tenant = ?1 AND timer = ?2";
    let mut statement = reader.prepare_cached(sql)?;
    let mut items = Vec::with_capacity(leased.items.len());
    for (tenant, lease) in leased.items {
        let row =
            statement.query_row((tenant.as_str(), &lease.timer), |row| Ok((row.get(0)?, blob(row, 1)?))).optional()?;
        items.extend(row.map(|(due_ms, schedule)| Tick { tenant, lease, due_ms, schedule }));
    }
    Ok(Leased { items, next_due_ms: leased.next_due_ms })
}

/// The length of a value is in the head of its row: the values themselves are not read.
pub(super) fn stored_bytes(reader: &Connection, tenant: &Tenant) -> Read<u64> {
    let sql = "SELECT (SELECT coalesce(sum(length(value)), 0) FROM records WHERE tenant = ?1)
         + (SELECT coalesce(sum(size_bytes), 0) FROM scopes WHERE tenant = ?1)
         + (SELECT coalesce(sum(length(entries.value)), 0)
            FROM streams JOIN entries ON entries.stream = streams.stream WHERE streams.tenant = ?1)";
    reader.prepare_cached(sql)?.query_row([tenant.as_str()], |row| row.get(0))
}

pub(super) fn directory(reader: &Connection, key: &str) -> Read<Option<Bytes>> {
    let mut statement = reader.prepare_cached("SELECT value FROM directory WHERE key = ?1")?;
    statement.query_row([key], |row| blob(row, 0)).optional()
}

fn read_record(row: &Row<'_>) -> Read<Record> {
    Ok(Record {
        id: row.get(0)?,
        alias: row.get(1)?,
        version: row.get(2)?,
        position: row.get(3)?,
        value: blob(row, 4)?,
    })
}

fn blob(row: &Row<'_>, column: usize) -> Read<Bytes> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob()?))
}

fn signed(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}
