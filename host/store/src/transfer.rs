//! Moves everything from a file to a shared server and back, while no host uses either.
//!
//! A row is one thing that is kept, in words that both engines share. Rows are read in an order that stays the same as
//! long as nothing changes, and the target counts what it has applied together with applying it: a move that was cut off
//! goes on where it ended. At the end both sides are read and compared.
//!
//! What is not moved: leases and locks, which end with the hosts that held them. Places in lists and numbers of jobs are
//! given anew, in the same order.

mod file;
mod redis;
mod rows;

use std::path::Path;

use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::{Error, Store, Tenant};
use async_recursion::async_recursion as boxed;

pub(crate) use self::rows::Row;
use self::rows::Tallies;
pub use self::rows::Tally;

/// Rows that are applied together, at most.
const CHUNK_ROWS: usize = 500;
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks that are read ahead.
const AHEAD: usize = 4;

/// What was moved, by what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub tallies: Vec<(&'static str, Tally)>,
}

/// A server that hosts share.
pub enum Server {
    Redis(Box<Redis>),
    Postgres(Box<Postgres>),
}

enum Target<'server> {
    Redis(redis::Target<'server>),
    Postgres(Box<crate::postgres::transfer::Target<'server>>),
}

/// Copies the store in a file into an empty server, or goes on with that.
#[boxed]
pub async fn to_server(from: &Path, to: &Server) -> Result<Moved, Error> {
    let mut target = to.target().await?;
    let (mut chunks, reading) = file::read(from.to_owned());
    let mut expected = Tallies::default();
    while let Some(chunk) = chunks.recv().await {
        chunk.iter().for_each(|row| expected.add(row));
        target.apply(chunk).await?;
    }
    reading.await??;
    let mut found = Tallies::default();
    target.complete().await?;
    to.read(|row| found.add(&row)).await?;
    let moved = compared(expected, &found)?;
    target.finish().await?;
    Ok(moved)
}

/// Copies what is on a server into a new file, or goes on with that. The file has its name when it is whole.
#[boxed]
pub async fn to_file(from: &Server, to: &Path) -> Result<Moved, Error> {
    let unfinished = to.with_added_extension("unfinished");
    let mut target = file::Target::open(&unfinished)?;
    let mut expected = Tallies::default();
    let mut failure = None;
    from.read(|row| {
        expected.add(&row);
        if failure.is_none() {
            failure = target.apply(row).err();
        }
    })
    .await?;
    failure.map_or(Ok(()), Err)?;
    target.finish()?;
    let found = tally(&unfinished).await?;
    let moved = compared(expected, &found)?;
    std::fs::rename(&unfinished, to).map_err(|source| Error::Folder { path: to.into(), source })?;
    Ok(moved)
}

async fn tally(path: &Path) -> Result<Tallies, Error> {
    let (mut chunks, reading) = file::read(path.to_owned());
    let mut found = Tallies::default();
    while let Some(chunk) = chunks.recv().await {
        chunk.iter().for_each(|row| found.add(row));
    }
    reading.await??;
    Ok(found)
}

fn compared(expected: Tallies, found: &Tallies) -> Result<Moved, Error> {
    match expected.difference(found) {
        Some(what) => Err(Error::MovedOtherwise { what }),
        None => Ok(Moved { tallies: expected.into_list() }),
    }
}

// === impl Server ===

impl Server {
    pub fn store(&self) -> &dyn Store {
        match self {
            Self::Redis(redis) => &**redis,
            Self::Postgres(postgres) => &**postgres,
        }
    }

    /// Whether a move into this store is unfinished: then no host may use it.
    #[boxed]
    pub async fn is_moving(&self) -> Result<bool, Error> {
        match self {
            Self::Redis(redis) => redis.is_moving().await,
            Self::Postgres(postgres) => postgres.is_moving().await,
        }
    }

    async fn read(&self, give: impl FnMut(Row)) -> Result<(), Error> {
        match self {
            Self::Redis(redis) => redis::read(redis, give).await,
            Self::Postgres(postgres) => postgres.read_rows(give).await,
        }
    }

    async fn target(&self) -> Result<Target<'_>, Error> {
        Ok(match self {
            Self::Redis(redis) => Target::Redis(redis::Target::open(redis).await?),
            Self::Postgres(postgres) => Target::Postgres(Box::new(postgres.target().await?)),
        })
    }
}

// === impl Target ===

impl Target<'_> {
    async fn apply(&mut self, rows: Vec<Row>) -> Result<(), Error> {
        match self {
            Self::Redis(target) => target.apply(rows).await,
            Self::Postgres(target) => target.apply(rows).await,
        }
    }

    /// All rows are in: what is counted from them is put right.
    async fn complete(&mut self) -> Result<(), Error> {
        match self {
            Self::Redis(_) => Ok(()),
            Self::Postgres(target) => target.complete().await,
        }
    }

    /// They are the same on both sides: hosts may use it.
    async fn finish(self) -> Result<(), Error> {
        match self {
            Self::Redis(target) => target.finish().await,
            Self::Postgres(target) => target.finish().await,
        }
    }
}

fn tenant_of(text: &str) -> Result<Tenant, Error> {
    Tenant::parse(text).map_err(|_| Error::MovedOtherwise { what: "tenants" })
}

#[cfg(test)]
mod tests;
