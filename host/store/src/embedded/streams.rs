//! Streams as the writer sees them: what is known of an emitter stays in memory from batch to batch.
//!
//! Everything waits for [`Streams::flush`], which the writer calls before every fsync: a burst of events to one stream is
//! one block of entries, or a few, and updates the stream's own row (its count, first and last id) once. Nothing else ever reads
//! in between.
//!
//! Entries leave a stream at its old end, by retention and by age, nearly always. Then `first` moves on, and a block goes when all of
//! it is before that; only what is deleted from amid others has its block written anew.

use rusqlite::Connection;

use super::block::{Block, Member, members};
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
    /// Entries before it are gone, also where their block is not.
    first: i64,
    last: i64,
    /// Not written yet.
    block: Block,
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
        if !stream.block.has_room(value) {
            stream.write_block(connection)?;
        }
        stream.block.push(id.packed(), value);
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
        stream.delete(connection, range, u64::from(max))
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
            removed += stream.delete(connection, (None, None), u64::from(max) - removed)?;
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
                let sql = "UPDATE streams SET count = ?2, first = ?3, last = ?4 WHERE stream = ?1";
                connection.prepare_cached(sql)?.execute((stream.row, stream.count, stream.first, stream.last))?;
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
        let sql =
            "SELECT stream, name, count, first, last FROM streams WHERE tenant = ?1 AND emitter = ?2 ORDER BY name";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map((tenant.as_str(), emitter), |row| {
            let (count, first, last) = (row.get(2)?, row.get(3)?, row.get(4)?);
            Ok(Stream { count, first, last, ..Stream::new(row.get(0)?, row.get(1)?) })
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
                self.streams.insert(place, Stream { is_changed: true, ..Stream::new(row, stream.to_owned()) });
                Ok(place)
            }
        }
    }
}

impl Stream {
    fn new(row: i64, name: String) -> Self {
        Self { row, name, count: 0, first: 0, last: 0, block: Block::default(), keep: None, is_changed: false }
    }

    fn trim(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        self.write_block(connection)?;
        let Some(keep) = self.keep.take() else { return Ok(()) };
        let surplus = self.count.saturating_sub(u64::from(keep));
        self.delete(connection, (None, None), surplus)?;
        Ok(())
    }

    fn write_block(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        if self.block.is_empty() {
            return Ok(());
        }
        insert(connection, self.row, &std::mem::take(&mut self.block))
    }

    /// The oldest of a range, so many at most.
    fn delete(&mut self, connection: &Connection, range: Range, max: u64) -> Result<u64, rusqlite::Error> {
        if max == 0 {
            return Ok(0);
        }
        let first = range.0.map_or(self.first, EntryId::packed);
        let last = range.1.map_or(i64::MAX, EntryId::packed);
        let is_old_end = first <= self.first;
        let (mut removed, mut whole, mut parts) = (0, Vec::new(), Vec::new());
        let sql = "SELECT id, members FROM entries WHERE stream = ?1 AND id >= ?2 ORDER BY id";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query((self.row, first.max(self.first)))?;
        while let Some(row) = rows.next()?
            && removed < max
        {
            let id = row.get(0)?;
            let mut kept = members(id, row.get_ref(1)?.as_blob_or_null()?)?;
            kept.retain(|member| member.id >= self.first);
            let before = kept.len();
            kept.retain(|member| {
                let goes = removed < max && (first..=last).contains(&member.id);
                removed += u64::from(goes);
                !goes
            });
            match kept.first() {
                _ if kept.len() == before => break,
                None => whole.push(id),
                Some(oldest) if is_old_end => self.first = oldest.id,
                Some(_) => parts.push((id, kept)),
            }
        }
        drop(rows);
        if let (Some(first), Some(last)) = (whole.first(), whole.last()) {
            let sql = "DELETE FROM entries WHERE stream = ?1 AND id BETWEEN ?2 AND ?3";
            connection.prepare_cached(sql)?.execute((self.row, first, last))?;
        }
        for (id, kept) in parts {
            self.write_anew(connection, id, &kept)?;
        }
        self.count = self.count.saturating_sub(removed);
        self.is_changed |= removed > 0;
        Ok(removed)
    }

    /// Leaves these in the row.
    fn write_anew(&self, connection: &Connection, id: i64, kept: &[Member]) -> Result<(), rusqlite::Error> {
        let sql = "DELETE FROM entries WHERE stream = ?1 AND id = ?2 RETURNING value";
        let values: Vec<u8> = connection.prepare_cached(sql)?.query_row((self.row, id), |row| row.get(0))?;
        let mut block = Block::default();
        for member in kept {
            block.push(member.id, member.value(&values)?);
        }
        insert(connection, self.row, &block)
    }
}

fn insert(connection: &Connection, stream: i64, block: &Block) -> Result<(), rusqlite::Error> {
    let (id, members, values) = block.columns();
    let sql = "INSERT INTO entries (stream, id, members, value) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(sql)?.execute((stream, id, members, values))?;
    Ok(())
}

#[cfg(test)]
mod tests;
