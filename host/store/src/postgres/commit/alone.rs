//! Operations of which only the server knows what they remove. What the batch has appended so far is written before them.

use super::load::Loaded;
use super::statements as sql;
use super::tenant::Stream;
use super::write;
use crate::postgres::link::{Connection, Question};
use crate::postgres::rows::{Fields, name};
use crate::{EntryId, Error, Op, Tenant};

pub(super) fn is_needed(operation: &Op) -> bool {
    matches!(operation, Op::DeleteEntries { .. } | Op::DropEmitter { .. } | Op::ClearScope { .. })
}

impl Loaded {
    /// How many went.
    pub(super) async fn remove(
        &mut self,
        tenant: &Tenant,
        operation: &Op,
        connection: &Connection,
    ) -> Result<u64, Error> {
        match operation {
            Op::DeleteEntries { emitter, stream, first, last, max } => {
                self.write_streams(connection).await?;
                let range = (first.map_or(i64::MIN, EntryId::packed), last.map_or(i64::MAX, EntryId::packed));
                self.delete_entries((tenant, emitter, stream), range, *max, connection).await
            }
            Op::DropEmitter { emitter, max } => {
                self.write_streams(connection).await?;
                self.drop_emitter(tenant, emitter, *max, connection).await
            }
            Op::ClearScope { scope, max } => self.clear_scope(tenant, scope, *max, connection).await,
            _ => Ok(0),
        }
    }

    async fn write_streams(&mut self, connection: &Connection) -> Result<(), Error> {
        write::number_streams(&mut self.owned)?;
        connection.ask_all(write::streams(&self.owned)).await?;
        for owned in &mut self.owned {
            owned.emitters.values_mut().for_each(|emitter| emitter.is_changed = false);
            for stream in owned.streams.values_mut() {
                let (number, stored) = (stream.number, stream.count());
                *stream = Stream { number, stored, ..Stream::default() };
            }
        }
        Ok(())
    }

    async fn delete_entries(
        &mut self,
        (tenant, emitter, stream): (&Tenant, &String, &String),
        (first, last): (i64, i64),
        max: u32,
        connection: &Connection,
    ) -> Result<u64, Error> {
        let question = Question::of(sql::DELETE_ENTRIES)
            .with(tenant.as_str())
            .with(emitter.as_bytes())
            .with(stream.as_bytes())
            .with(first)
            .with(last)
            .with(i64::from(max));
        let rows = connection.ask(&question).await?;
        let Some(row) = rows.first() else { return Ok(0) };
        let (removed, left): (i64, i64) = (row.field(0)?, row.field(1)?);
        let key = (emitter.clone(), stream.clone());
        if let Some(stream) = self.of(tenant).and_then(|owned| owned.streams.get_mut(&key)) {
            stream.stored = left;
        }
        Ok(u64::try_from(removed).unwrap_or_default())
    }

    async fn drop_emitter(
        &mut self,
        tenant: &Tenant,
        emitter: &str,
        max: u32,
        connection: &Connection,
    ) -> Result<u64, Error> {
        let named = |statement| Question::of(statement).with(tenant.as_str()).with(emitter.as_bytes());
        let streams = connection.ask(&named(sql::STREAMS_OF)).await?;
        let (mut removed, mut left) = (0, 0);
        for row in &streams {
            let (stream, entries) = (name(row, 0)?, row.field::<i64>(2)?);
            let goes = entries.min(i64::from(max) - removed);
            if goes > 0 {
                let range = (i64::MIN, i64::MAX);
                let goes = u32::try_from(goes).unwrap_or(u32::MAX);
                self.delete_entries((tenant, &emitter.to_owned(), &stream), range, goes, connection).await?;
            }
            removed += goes.max(0);
            left += entries - goes.max(0);
        }
        if left == 0 {
            connection.ask_all(vec![named(sql::DROP_STREAMS), named(sql::DROP_EMITTER)]).await?;
            if let Some(owned) = self.of(tenant) {
                if let Some(emitter) = owned.emitters.get_mut(emitter) {
                    emitter.last = None;
                }
                let of_emitter = owned.streams.iter_mut().filter(|(key, _)| key.0 == emitter);
                of_emitter.for_each(|(_, stream)| *stream = Stream::default());
            }
        }
        Ok(u64::try_from(removed).unwrap_or_default())
    }

    async fn clear_scope(
        &mut self,
        tenant: &Tenant,
        scope: &str,
        max: u32,
        connection: &Connection,
    ) -> Result<u64, Error> {
        let question = Question::of(sql::CLEAR_SCOPE).with(tenant.as_str()).with(scope.as_bytes()).with(i64::from(max));
        let rows = connection.ask(&question).await?;
        let mut size_bytes = 0;
        for row in &rows {
            size_bytes += row.field::<i64>(0)?;
        }
        if let Some(owned) = self.of(tenant) {
            let before = owned.scopes.get(&scope.to_owned()).copied().unwrap_or_default();
            owned.scopes.set(scope.to_owned(), before - size_bytes);
            owned.scopes.keep();
        }
        Ok(rows.len() as u64)
    }
}
