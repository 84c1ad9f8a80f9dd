//! The seam between the product and its storage.

use std::sync::Arc;

use async_trait::async_trait;
use metrics::Family;

use crate::{
    Batch, Beat, CommitError, Committed, Directory, DirectoryWrite, Error, Heartbeat, Keeping, Live, Member,
    Neighbours, Reads, Tenant, Work,
};

/// Obligations: a commit that was answered survives a crash of the process, and of the machine as
/// far as the engine is configured for it; a batch is applied at most once, also when the
/// connection broke in between; batches of a tenant are applied one after the other.
#[async_trait]
pub trait Store: Reads + Work + Directory {
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError>;

    /// Follows an emitter: every entry of a commit that is answered after this returns is given, in the order of commits
    /// and whatever retention says, or [`crate::Taken::Lost`] in its place. Some that were committed a moment before may
    /// be given as well.
    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error>;

    /// How many partitions there are, fixed when the store was created.
    fn partitions(&self) -> u16;

    /// Whether every write is refused, because the store is being copied.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Whether other hosts use the store as well.
    fn sharing(&self) -> Sharing {
        Sharing::Alone
    }

    /// Says that a host is there. `None` where only one process has the store.
    async fn beat(&self, _beat: Beat<'_>) -> Result<Option<Heartbeat>, Error> {
        Ok(None)
    }

    /// Which layout records are written in from now on; refused when they were written in a newer one than this process
    /// reads. The only process of a store decides by itself; where hosts share one, the next heartbeat may raise it.
    async fn settle_layout(&self, reads: u32) -> Result<u32, Error> {
        let written = noted_layout(self).await?;
        readable(written, reads)?;
        if written < reads {
            let value = reads.to_string().into();
            self.write_directory(DirectoryWrite::Put { key: LAYOUT.to_owned(), value }).await?;
        }
        Ok(reads)
    }

    /// A host stops: others need not wait until it is missed.
    async fn leave(&self, _host: &str) -> Result<(), Error> {
        Ok(())
    }

    /// The hosts that were heard of within this time, and what they last said of themselves.
    async fn members(&self, _within_ms: u64) -> Result<Vec<Member>, Error> {
        Ok(Vec::new())
    }

    /// How hosts that share the store talk to each other; none where only one process has it.
    fn neighbours(&self) -> Option<Arc<dyn Neighbours>> {
        None
    }

    /// How each server keeps the data, with its place. Nothing where the engine itself does.
    async fn keeping(&self) -> Result<Vec<(String, Keeping)>, Error> {
        Ok(Vec::new())
    }

    /// What was counted since the start.
    fn families(&self) -> Vec<Family> {
        Vec::new()
    }
}

/// The layout of a store that says nothing about it.
pub const FIRST_LAYOUT: u32 = 1;
/// Where the directory of a store with one process has its layout.
pub(crate) const LAYOUT: &str = "layout";

/// Where the directory has it; 0 before there was any.
pub(crate) async fn noted_layout(directory: &(impl Directory + ?Sized)) -> Result<u32, Error> {
    let written = directory.look_up(LAYOUT).await?;
    Ok(written.and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok()).unwrap_or(0))
}

/// A layout is how the bytes of records are to be understood: the store keeps its number, and does not look at them.
pub(crate) fn readable(written: u32, reads: u32) -> Result<(), Error> {
    if written > reads { Err(Error::NewerLayout { written, reads }) } else { Ok(()) }
}

/// Which hosts use a store, and what asking all its partitions for work costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One process has it.
    Alone,
    /// Hosts share a server: one round trip asks all partitions.
    Server,
    /// Hosts share several servers: each partition is a round trip.
    Cluster,
}
