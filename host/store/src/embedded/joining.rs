//! Parts of entries that wait for the end of the group: each entry is made when it is full, or when the group is written.

use std::sync::Arc;

use bytes::Bytes;
use rusqlite::Connection;

use super::streams::Streams;
use crate::{Joined, PARTS_MAXIMUM, Part, Tenant};

/// Looked through for every part, so not all that a group can have.
const OPEN_MAXIMUM: usize = 16;

#[derive(Default)]
pub(super) struct Joining {
    open: Vec<Open>,
}

/// An entry that takes more parts.
struct Open {
    tenant: Tenant,
    now_ms: u64,
    of: Arc<Joined>,
    contents: Vec<Bytes>,
}

impl Joining {
    /// Of a batch that was applied.
    pub(super) fn add(
        &mut self,
        to: (&Connection, &mut Streams),
        (tenant, now_ms): (&Tenant, u64),
        part: &Part,
    ) -> Result<(), rusqlite::Error> {
        let known = self.open.iter().position(|open| open.of == part.of && open.tenant == *tenant);
        if let Some(at) = known
            && let Some(open) = self.open.get_mut(at)
        {
            open.contents.push(part.content.clone());
            open.now_ms = open.now_ms.max(now_ms);
            return if open.contents.len() < PARTS_MAXIMUM { Ok(()) } else { self.open.remove(at).write(to) };
        }
        let contents = vec![part.content.clone()];
        self.open.push(Open { tenant: tenant.clone(), now_ms, of: part.of.clone(), contents });
        if self.open.len() > OPEN_MAXIMUM { self.open.remove(0).write(to) } else { Ok(()) }
    }

    /// Before entries of an emitter are deleted, which may be these.
    pub(super) fn write_of(
        &mut self,
        (connection, streams): (&Connection, &mut Streams),
        tenant: &Tenant,
        emitter: &str,
    ) -> Result<(), rusqlite::Error> {
        let is_of = |open: &mut Open| open.tenant == *tenant && open.of.emitter == emitter;
        self.open.extract_if(.., is_of).try_for_each(|open| open.write((connection, streams)))
    }

    pub(super) fn write_all(&mut self, connection: &Connection, streams: &mut Streams) -> Result<(), rusqlite::Error> {
        self.open.drain(..).try_for_each(|open| open.write((connection, streams)))
    }

    /// With the group, of which nothing was written.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }
}

impl Open {
    fn write(self, (connection, streams): (&Connection, &mut Streams)) -> Result<(), rusqlite::Error> {
        let Joined { emitter, stream, keep, join, .. } = &*self.of;
        let value = join.join(&self.tenant, &self.contents).map_err(rusqlite::Error::ToSqlConversionFailure)?;
        streams.append(connection, (&self.tenant, self.now_ms), (emitter, stream), (&value, *keep))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
