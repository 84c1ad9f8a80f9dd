//! Rows of Redis, and Redis as the target of a move.

use std::collections::BTreeMap;

use super::rows::Row;
use super::{CHUNK_BYTES, CHUNK_ROWS, tenant_of};
use crate::redis::Redis;
use crate::redis::transfer::{Import, unescape};
use crate::{EntryId, Error, LAYOUT, Partition, Tenant};

/// Entries that are read at once.
const PAGE: usize = 500;

/// Gives every row, in an order that stays the same while nothing is written.
pub(super) async fn read(redis: &Redis, mut give: impl FnMut(Row)) -> Result<(), Error> {
    // Hosts settle on it together, so it is with them and not in the directory.
    if let Some(layout) = redis.stored_layout().await? {
        give(Row::Directory { key: LAYOUT.to_owned(), value: layout.to_string().into() });
    }
    let keys = redis.all_keys().await?;
    for key in keys.iter().filter_map(|key| redis.parse_key(key)) {
        match (key.partition, key.name, key.rest) {
            (None, "directory", rest) => {
                let value = redis.bytes_at(key.whole).await?.unwrap_or_default();
                give(Row::Directory { key: rest.to_owned(), value });
            }
            (Some(_), "records", rest) => read_records(redis, key.whole, rest, &mut give).await?,
            (Some(_), "counter", rest) => {
                let (tenant, name) = tenant_and(rest)?;
                if let Some((value, expires_ms)) = redis.counter_at(key.whole).await? {
                    give(Row::Counter { tenant, name: name.to_owned(), value, expires_ms });
                }
            }
            (Some(_), "state", rest) => {
                let (tenant, scope) = tenant_and(rest)?;
                for (key, value) in redis.values_at(key.whole).await? {
                    give(Row::Value { tenant: tenant.clone(), scope: scope.to_owned(), key, value });
                }
            }
            (Some(_), "timer", rest) => {
                let (tenant, timer) = tenant_and(rest)?;
                if let Some((due_ms, schedule)) = redis.timer_at(key.whole).await? {
                    give(Row::Timer { tenant, timer: timer.to_owned(), due_ms, schedule });
                }
            }
            (Some(_), "job", _) => {
                if let Some(job) = redis.job_at(key.whole).await? {
                    let entry = job.entry.filter(|entry| !entry.is_empty()).map(|entry| parse(&entry)).transpose()?;
                    let (tenant, lane) = (tenant_of(&job.tenant)?, job.lane);
                    let (due_ms, attempt, payload) = (job.due_ms, job.attempt, job.payload);
                    give(Row::Job { tenant, lane, due_ms, attempt, entry, payload });
                }
            }
            _ => {}
        }
    }
    // A stream comes before its entries, and those of an emitter in their order.
    for key in keys.iter().filter_map(|key| redis.parse_key(key)).filter(|key| key.name == "streams") {
        read_emitter(redis, key.whole, key.rest, &mut give).await?;
    }
    Ok(())
}

async fn read_records(redis: &Redis, key: &str, rest: &str, give: &mut impl FnMut(Row)) -> Result<(), Error> {
    let (tenant, escaped) = tenant_and(rest)?;
    let kind = unescape(escaped);
    for id in redis.ids_at(key).await? {
        let record = key.replacen(":records:", ":record:", 1) + ":" + &id;
        if let Some((version, alias, value)) = redis.record_at(&record).await? {
            give(Row::Record { tenant: tenant.clone(), kind: kind.clone(), id, alias, version, value });
        }
    }
    Ok(())
}

async fn read_emitter(redis: &Redis, key: &str, rest: &str, give: &mut impl FnMut(Row)) -> Result<(), Error> {
    let (tenant, escaped) = tenant_and(rest)?;
    let emitter = unescape(escaped);
    let last = redis.bytes_at(&key.replacen(":streams:", ":last:", 1)).await?;
    let last = last.map(|last| parse(&String::from_utf8_lossy(&last))).transpose()?.unwrap_or(EntryId::FIRST);
    for name in redis.ids_at(key).await? {
        give(Row::Stream { tenant: tenant.clone(), emitter: emitter.clone(), name: name.clone(), last });
        let stream = key.replacen(":streams:", ":stream:", 1) + ":" + &name;
        let mut from = "-".to_owned();
        loop {
            let page = redis.entries_at(&stream, &from, PAGE).await?;
            let Some((newest, _)) = page.last() else { break };
            from = format!("({newest}");
            for (id, value) in page {
                let (tenant, emitter, stream) = (tenant.clone(), emitter.clone(), name.clone());
                give(Row::Entry { tenant, emitter, stream, id: parse(&id)?, value });
            }
        }
    }
    Ok(())
}

fn tenant_and(rest: &str) -> Result<(Tenant, &str), Error> {
    let (tenant, name) = rest.split_once(':').ok_or(Error::MovedOtherwise { what: "keys" })?;
    Ok((tenant_of(tenant)?, name))
}

fn parse(id: &str) -> Result<EntryId, Error> {
    id.parse().map_err(|_| Error::MovedOtherwise { what: "events" })
}

/// Redis that rows are written to. Each partition counts its own, because each is written on its own.
pub(super) struct Target<'redis> {
    redis: &'redis Redis,
    applied: BTreeMap<Partition, u64>,
    seen: BTreeMap<Partition, u64>,
}

// === impl Target ===

impl<'redis> Target<'redis> {
    /// Refused unless Redis is empty, or has what an earlier move left unfinished.
    pub(super) async fn open(redis: &'redis Redis) -> Result<Self, Error> {
        let applied = redis.begin_import().await?;
        Ok(Self { redis, applied, seen: BTreeMap::new() })
    }

    pub(super) async fn apply(&mut self, rows: Vec<Row>) -> Result<(), Error> {
        let mut imports: BTreeMap<Partition, Import> = BTreeMap::new();
        for row in rows {
            let Some(partition) = row.tenant().map(|tenant| self.redis.partition_of(tenant)) else {
                // Written again it is the same.
                match row {
                    Row::Directory { key, value } if key == LAYOUT => self.redis.put_layout(&value).await?,
                    Row::Directory { key, value } => self.redis.put_directory(&key, &value).await?,
                    _ => {}
                }
                continue;
            };
            let seen = self.seen.entry(partition).or_default();
            *seen += 1;
            if *seen <= self.applied.get(&partition).copied().unwrap_or_default() {
                continue;
            }
            let import = imports.entry(partition).or_insert_with(|| Import::new(partition));
            import.add(&row);
            import.applied = *seen;
            if import.rows >= CHUNK_ROWS || import.size_bytes() >= CHUNK_BYTES {
                let full = imports.remove(&partition);
                self.write(full).await?;
            }
        }
        for import in imports.into_values() {
            self.write(Some(import)).await?;
        }
        Ok(())
    }

    pub(super) async fn finish(self) -> Result<(), Error> {
        self.redis.end_import().await
    }

    async fn write(&self, import: Option<Import>) -> Result<(), Error> {
        match import {
            Some(import) => self.redis.import(&import).await,
            None => Ok(()),
        }
    }
}
