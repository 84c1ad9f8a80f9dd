//! The seam between the product and its storage.

use async_trait::async_trait;
use metrics::Family;

use crate::{Batch, CommitError, Committed, Directory, Error, Live, Reads, Tenant, Work};

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

    /// What was counted since the start.
    fn families(&self) -> Vec<Family> {
        Vec::new()
    }
}
