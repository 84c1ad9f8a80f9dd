//! Streams as the writer sees them: what is known of an emitter stays in memory from batch to batch.
//!
//! Entries are written at once. The row of a stream (its count and last id) and the trimming to its
//! retention wait for [`Streams::flush`], which the writer calls before every fsync: a burst of
//! events to one stream updates its row once. Nothing else ever reads in between.

use rusqlite::{Connection, OptionalExtension};

use crate::HashMap;
use crate::{EntryId, Tenant};

/// Emitters and their streams that are remembered between transactions, some 200 bytes each; beyond it everything is forgotten
/// and read again.
const REMEMBERED: usize = 50_000;

#[derive(Default)]
pub(super) struct Streams {
    emitters: HashMap<Tenant, HashMap<String, Emitter>>,
    /// Emitters and streams.
    remembered: usize,
    /// Emitters with something to flush.
    changed: Vec<(Tenant, String)>,
}

#[derive(Default)]
struct Emitter {
    last: Option<EntryId>,
    /// In order of their names.
    streams: Vec<Stream>,
    is_changed: bool,
}

struct Stream {
    row: i64,
    name: String,
    count: u64,
    last: i64,
    /// The retention still to be applied.
    keep: Option<u32>,
    is_changed: bool,
}

/// What memory has of an emitter's last id; `None` when it has to be read.
pub(super) type Known = Option<Option<EntryId>>;
pub(super) type Range = (Option<EntryId>, Option<EntryId>);

impl Streams {
    pub(super) fn append(
        &mut self,
        connection: &Connection,
        at: (&Tenant, u64),
        name: (&str, &str),
        value: (&[u8], u32),
    ) -> Result<EntryId, rusqlite::Error> {
        let ((tenant, now_ms), (emitter_name, stream_name), (value, keep)) = (at, name, value);
        let emitter = self.change(connection, tenant, emitter_name)?;
        let id = EntryId::next(emitter.last, now_ms);
        emitter.last = Some(id);
        let known = emitter.streams.len();
        let place = emitter.place(connection, (tenant, emitter_name, stream_name))?;
        let added = emitter.streams.len() - known;
        let stream = emitter.streams.get_mut(place).ok_or(rusqlite::Error::InvalidQuery)?;
        if stream.keep.is_some_and(|pending| pending != keep) {
            stream.trim(connection)?;
        }
        let sql = "INSERT INTO entries (stream, id, value) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute((stream.row, id.packed(), value))?;
        stream.count += 1;
        stream.last = id.packed();
        stream.keep = Some(keep);
        stream.is_changed = true;
        self.remembered += added;
        Ok(id)
    }

    pub(super) fn delete(
        &mut self,
        connection: &Connection,
        tenant: &Tenant,
        name: (&str, &str),
        range: Range,
        max: u32,
    ) -> Result<u64, rusqlite::Error> {
        let emitter = self.change(connection, tenant, name.0)?;
        let Some(stream) = emitter.streams.iter_mut().find(|known| known.name == name.1) else { return Ok(0) };
        stream.trim(connection)?;
        stream.delete_oldest(connection, range, u64::from(max))
    }

    pub(super) fn drop_emitter(
        &mut self,
        connection: &Connection,
        tenant: &Tenant,
        name: &str,
        max: u32,
    ) -> Result<u64, rusqlite::Error> {
        let emitter = self.change(connection, tenant, name)?;
        let mut removed = 0;
        for stream in &mut emitter.streams {
            stream.trim(connection)?;
            removed += stream.delete_oldest(connection, (None, None), u64::from(max) - removed)?;
        }
        if emitter.streams.iter().all(|stream| stream.count == 0) {
            let sql = "DELETE FROM streams WHERE tenant = ?1 AND emitter = ?2";
            connection.prepare_cached(sql)?.execute((tenant.as_str(), name))?;
            emitter.last = None;
            emitter.streams.clear();
        }
        Ok(removed)
    }

    pub(super) fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Known {
        Some(self.emitters.get(tenant)?.get(emitter)?.last)
    }

    /// Writes the changed emitters and streams to their rows.
    pub(super) fn flush(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        for (tenant, name) in self.changed.drain(..) {
            let Some(emitter) = self.emitters.get_mut(&tenant).and_then(|emitters| emitters.get_mut(&name)) else {
                continue;
            };
            emitter.is_changed = false;
            for stream in emitter.streams.iter_mut().filter(|stream| stream.is_changed) {
                stream.trim(connection)?;
                let sql = "UPDATE streams SET count = ?2, last = ?3 WHERE stream = ?1";
                connection.prepare_cached(sql)?.execute((stream.row, stream.count, stream.last))?;
                stream.is_changed = false;
            }
        }
        if self.remembered > REMEMBERED {
            self.forget();
        }
        Ok(())
    }

    /// After a rollback memory is wrong: what is needed is read again.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn change(
        &mut self,
        connection: &Connection,
        tenant: &Tenant,
        name: &str,
    ) -> Result<&mut Emitter, rusqlite::Error> {
        if !self.emitters.contains_key(tenant) {
            self.emitters.insert(tenant.clone(), HashMap::default());
        }
        let emitters = self.emitters.get_mut(tenant).ok_or(rusqlite::Error::InvalidQuery)?;
        if !emitters.contains_key(name) {
            let emitter = Emitter::load(connection, tenant, name)?;
            self.remembered += 1 + emitter.streams.len();
            emitters.insert(name.to_owned(), emitter);
        }
        let emitter = emitters.get_mut(name).ok_or(rusqlite::Error::InvalidQuery)?;
        if !emitter.is_changed {
            emitter.is_changed = true;
            self.changed.push((tenant.clone(), name.to_owned()));
        }
        Ok(emitter)
    }
}

impl Emitter {
    fn load(connection: &Connection, tenant: &Tenant, emitter: &str) -> Result<Self, rusqlite::Error> {
        let sql = "SELECT stream, name, count, last FROM streams WHERE tenant = ?1 AND emitter = ?2 ORDER BY name";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map((tenant.as_str(), emitter), |row| {
            let (row, name, count, last) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(Stream { row, name, count, last, keep: None, is_changed: false })
        })?;
        let streams = rows.collect::<Result<Vec<_>, _>>()?;
        let last = streams.iter().map(|stream| stream.last).max().map(EntryId::unpacked);
        Ok(Self { last, streams, is_changed: false })
    }

    /// Where the stream is among those of the emitter; it is made where there is none.
    fn place(&mut self, connection: &Connection, name: (&Tenant, &str, &str)) -> Result<usize, rusqlite::Error> {
        let (tenant, emitter, stream) = name;
        match self.streams.binary_search_by(|known| known.name.as_str().cmp(stream)) {
            Ok(place) => Ok(place),
            Err(place) => {
                let sql = "INSERT INTO streams (tenant, emitter, name, count, last) VALUES (?1, ?2, ?3, 0, 0)";
                let row = connection.prepare_cached(sql)?.insert((tenant.as_str(), emitter, stream))?;
                let name = stream.to_owned();
                self.streams.insert(place, Stream { row, name, count: 0, last: 0, keep: None, is_changed: true });
                Ok(place)
            }
        }
    }
}

impl Stream {
    fn trim(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        let Some(keep) = self.keep.take() else { return Ok(()) };
        let surplus = self.count.saturating_sub(u64::from(keep));
        self.delete_oldest(connection, (None, None), surplus)?;
        Ok(())
    }

    fn delete_oldest(&mut self, connection: &Connection, range: Range, max: u64) -> Result<u64, rusqlite::Error> {
        if max == 0 {
            return Ok(0);
        }
        let first = range.0.map_or(0, EntryId::packed);
        let last = range.1.map_or(i64::MAX, EntryId::packed);
        // The last id to go, then one range in a statement of its own: with a subquery, SQLite collects the keys in a
        // temporary table first.
        let sql = "SELECT id FROM entries WHERE stream = ?1 AND id >= ?2 AND id <= ?3 ORDER BY id LIMIT 1 OFFSET ?4";
        let mut statement = connection.prepare_cached(sql)?;
        let bound = statement.query_row((self.row, first, last, max - 1), |row| row.get(0)).optional()?;
        let sql = "DELETE FROM entries WHERE stream = ?1 AND id >= ?2 AND id <= ?3";
        let removed = connection.prepare_cached(sql)?.execute((self.row, first, bound.unwrap_or(last)))?;
        let removed = u64::try_from(removed).unwrap_or_default();
        self.count = self.count.saturating_sub(removed);
        self.is_changed |= removed > 0;
        Ok(removed)
    }
}

#[cfg(test)]
mod tests;
