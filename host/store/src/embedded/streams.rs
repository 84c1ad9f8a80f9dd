//! Stream operations of one batch. The rows of an emitter's streams are read once per batch and
//! written once at its end: a run that emits ten thousand events updates one row, not ten thousand.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::{EntryId, Tenant};

pub(super) struct Streams<'run> {
    connection: &'run Connection,
    tenant: &'run Tenant,
    now_ms: u64,
    emitters: HashMap<String, Emitter>,
}

#[derive(Default)]
struct Emitter {
    last: Option<EntryId>,
    streams: Vec<Stream>,
}

struct Stream {
    row: i64,
    name: String,
    count: u64,
    last: i64,
    is_changed: bool,
}

type Range = (Option<EntryId>, Option<EntryId>);

impl<'run> Streams<'run> {
    pub(super) fn new(connection: &'run Connection, tenant: &'run Tenant, now_ms: u64) -> Self {
        Self { connection, tenant, now_ms, emitters: HashMap::new() }
    }

    pub(super) fn append(&mut self, emitter: &str, stream: &str, value: &[u8], keep: u32) -> Result<EntryId, rusqlite::Error> {
        let (connection, tenant, now_ms) = (self.connection, self.tenant, self.now_ms);
        let found = self.emitter(emitter)?;
        let id = EntryId::next(found.last, now_ms);
        found.last = Some(id);
        let stream = found.stream(connection, (tenant, emitter, stream))?;
        let sql = "INSERT INTO entries (stream, id, value) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute((stream.row, id.packed(), value))?;
        stream.count += 1;
        stream.last = id.packed();
        stream.is_changed = true;
        let surplus = stream.count.saturating_sub(u64::from(keep));
        if surplus > 0 {
            delete_oldest(connection, stream, (None, None), surplus)?;
        }
        Ok(id)
    }

    pub(super) fn delete(&mut self, emitter: &str, stream: &str, range: Range, max: u32) -> Result<u64, rusqlite::Error> {
        let connection = self.connection;
        let found = self.emitter(emitter)?;
        match found.streams.iter_mut().find(|known| known.name == stream) {
            Some(stream) => delete_oldest(connection, stream, range, u64::from(max)),
            None => Ok(0),
        }
    }

    pub(super) fn drop_emitter(&mut self, emitter: &str, max: u32) -> Result<u64, rusqlite::Error> {
        let (connection, tenant) = (self.connection, self.tenant);
        let found = self.emitter(emitter)?;
        let mut removed = 0;
        for stream in &mut found.streams {
            removed += delete_oldest(connection, stream, (None, None), u64::from(max) - removed)?;
        }
        if found.streams.iter().all(|stream| stream.count == 0) {
            let sql = "DELETE FROM streams WHERE tenant = ?1 AND emitter = ?2";
            connection.prepare_cached(sql)?.execute((tenant.as_str(), emitter))?;
            *found = Emitter::default();
        }
        Ok(removed)
    }

    /// Writes what changed; the last thing of a batch.
    pub(super) fn flush(&mut self) -> Result<(), rusqlite::Error> {
        let changed = self.emitters.values().flat_map(|emitter| &emitter.streams).filter(|stream| stream.is_changed);
        for stream in changed {
            let sql = "UPDATE streams SET count = ?2, last = ?3 WHERE stream = ?1";
            self.connection.prepare_cached(sql)?.execute((stream.row, stream.count, stream.last))?;
        }
        Ok(())
    }

    fn emitter(&mut self, name: &str) -> Result<&mut Emitter, rusqlite::Error> {
        if !self.emitters.contains_key(name) {
            let loaded = Emitter::load(self.connection, self.tenant, name)?;
            self.emitters.insert(name.to_owned(), loaded);
        }
        Ok(self.emitters.entry(name.to_owned()).or_default())
    }
}

impl Emitter {
    fn load(connection: &Connection, tenant: &Tenant, emitter: &str) -> Result<Self, rusqlite::Error> {
        let sql = "SELECT stream, name, count, last FROM streams WHERE tenant = ?1 AND emitter = ?2 ORDER BY name";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map((tenant.as_str(), emitter), |row| {
            let (row, name, count, last) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(Stream { row, name, count, last, is_changed: false })
        })?;
        let streams = rows.collect::<Result<Vec<_>, _>>()?;
        let last = streams.iter().map(|stream| stream.last).max().map(EntryId::unpacked);
        Ok(Self { last, streams })
    }

    fn stream(&mut self, connection: &Connection, name: (&Tenant, &str, &str)) -> Result<&mut Stream, rusqlite::Error> {
        let (tenant, emitter, stream) = name;
        let place = match self.streams.binary_search_by(|known| known.name.as_str().cmp(stream)) {
            Ok(place) => place,
            Err(place) => {
                let sql = "INSERT INTO streams (tenant, emitter, name, count, last) VALUES (?1, ?2, ?3, 0, 0)";
                let row = connection.prepare_cached(sql)?.insert((tenant.as_str(), emitter, stream))?;
                let fresh = Stream { row, name: stream.to_owned(), count: 0, last: 0, is_changed: true };
                self.streams.insert(place, fresh);
                place
            }
        };
        self.streams.get_mut(place).ok_or(rusqlite::Error::InvalidQuery)
    }
}

fn delete_oldest(connection: &Connection, stream: &mut Stream, range: Range, max: u64) -> Result<u64, rusqlite::Error> {
    let first = range.0.map_or(0, EntryId::packed);
    let last = range.1.map_or(i64::MAX, EntryId::packed);
    let sql = "DELETE FROM entries WHERE stream = ?1 AND id IN
         (SELECT id FROM entries WHERE stream = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY id LIMIT ?4)";
    let removed = connection.prepare_cached(sql)?.execute((stream.row, first, last, max))?;
    let removed = u64::try_from(removed).unwrap_or_default();
    stream.count = stream.count.saturating_sub(removed);
    stream.is_changed |= removed > 0;
    Ok(removed)
}
