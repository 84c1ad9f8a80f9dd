//! A store that is only looked at, so that it is the same at the end of a copy as at the beginning.
//!
//! Reads are those of the store behind it. A write is refused, and there is never work to lease. Hosts still say that they
//! are there: that is not part of what is copied.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use metrics::Family;

use crate::store::{noted_layout, readable};
use crate::{
    Batch, Beat, CommitError, Committed, Directory, DirectoryWrite, Entry, EntryId, EntryQuery, Error, Head, Heartbeat,
    Job, JobId, Keeping, Keys, Lease, LeaseRequest, Leased, Live, Load, Lookup, Member, Neighbours, Page, Partition,
    Pulse, Reads, Record, Records, Shares, Sharing, Store, StreamInfo, Tenant, Tick, Values, Work,
};

pub struct ReadOnly(Arc<dyn Store>);

// === impl ReadOnly ===

impl ReadOnly {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }
}

#[async_trait]
impl Store for ReadOnly {
    async fn commit(&self, _batch: Batch) -> Result<Committed, CommitError> {
        Err(Error::WritesRefused.into())
    }

    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        self.0.follow(tenant, emitter).await
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn partitions(&self) -> u16 {
        self.0.partitions()
    }

    fn sharing(&self) -> Sharing {
        self.0.sharing()
    }

    async fn beat(&self, beat: Beat<'_>) -> Result<Option<Heartbeat>, Error> {
        self.0.beat(beat).await
    }

    /// What is there stays in the layout it is in. Hosts settle theirs outside of what is copied.
    async fn settle_layout(&self, reads: u32) -> Result<u32, Error> {
        if self.sharing() != Sharing::Alone {
            return self.0.settle_layout(reads).await;
        }
        readable(noted_layout(self).await?, reads).map(|()| reads)
    }

    async fn leave(&self, host: &str) -> Result<(), Error> {
        self.0.leave(host).await
    }

    async fn members(&self, within_ms: u64) -> Result<Vec<Member>, Error> {
        self.0.members(within_ms).await
    }

    fn neighbours(&self) -> Option<Arc<dyn Neighbours>> {
        self.0.neighbours()
    }

    async fn keeping(&self) -> Result<Vec<(String, Keeping)>, Error> {
        self.0.keeping().await
    }

    fn families(&self) -> Vec<Family> {
        self.0.families()
    }
}

#[async_trait]
impl Reads for ReadOnly {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error> {
        self.0.record(tenant, kind, lookup).await
    }

    async fn recent_record(&self, tenant: &Tenant, kind: &str, id: &str) -> Result<Option<Record>, Error> {
        self.0.recent_record(tenant, kind, id).await
    }

    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error> {
        self.0.records(tenant, kind, page).await
    }

    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error> {
        self.0.streams(tenant, emitter).await
    }

    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error> {
        self.0.last_entry(tenant, emitter).await
    }

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error> {
        self.0.entries(tenant, emitter, stream, query).await
    }

    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error> {
        self.0.values(tenant, scope, keys).await
    }

    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error> {
        self.0.keys(tenant, scope, after, limit).await
    }

    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error> {
        self.0.counters(tenant, counters).await
    }

    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        self.0.stored_bytes(tenant).await
    }
}

#[async_trait]
impl Work for ReadOnly {
    async fn lease_jobs(
        &self,
        _partitions: &[Partition],
        _request: LeaseRequest,
        _shares: Shares,
    ) -> Result<Leased<Job>, Error> {
        Ok(Leased { items: Vec::new(), next_due_ms: None })
    }

    async fn lease_timers(&self, _partitions: &[Partition], _request: LeaseRequest) -> Result<Leased<Tick>, Error> {
        Ok(Leased { items: Vec::new(), next_due_ms: None })
    }

    async fn extend(&self, _tenant: &Tenant, _lease: &Lease, _until_ms: u64) -> Result<(), CommitError> {
        Err(CommitError::LeaseLost)
    }

    async fn extend_hold(&self, _tenant: &Tenant, _job: JobId, _until_ms: u64) -> Result<(), CommitError> {
        Err(CommitError::LeaseLost)
    }

    async fn load(&self, now_ms: u64) -> Result<Load, Error> {
        self.0.load(now_ms).await
    }

    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error> {
        self.0.heads(tenant, skip, limit).await
    }

    fn pulse(&self) -> &Pulse {
        self.0.pulse()
    }
}

#[async_trait]
impl Directory for ReadOnly {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error> {
        self.0.look_up(key).await
    }

    async fn write_directory(&self, _write: DirectoryWrite) -> Result<bool, Error> {
        Err(Error::WritesRefused)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::fake::Memory;
    use crate::{
        Batch, CommitError, Directory, DirectoryWrite, Enqueue, Error, LeaseRequest, Lookup, Next, Op, Partition,
        ReadOnly, Reads, Shares, Store, Tenant, Work,
    };

    const SOON: LeaseRequest = LeaseRequest { now_ms: 1000, lease_ms: 1000, max: 10 };

    #[tokio::test]
    async fn what_is_there_is_read_and_nothing_is_written_or_leased() {
        let (store, tenant) = (Arc::new(Memory::default()), Tenant::parse("t").unwrap());
        let put = || Op::PutRecord { kind: "source".into(), id: "dc_1".into(), alias: None, value: "one".into() };
        let job = Enqueue { lane: None, due_ms: 0, payload: "job".into(), entry: None, held_until_ms: None };
        store.commit(Batch::new(&tenant, 1).then(put()).then(Op::Enqueue(job))).await.unwrap();
        let looked_at = ReadOnly::new(store.clone());

        let refused = looked_at.commit(Batch::new(&tenant, 2).then(put())).await.unwrap_err();
        let claimed = looked_at.write_directory(DirectoryWrite::Remove { key: "key".into() }).await.unwrap_err();
        let all = Partition::all(store.partitions());
        let leased = looked_at.lease(&all, SOON, Shares::default()).await.unwrap();
        let settled = looked_at.settle_layout(7).await.unwrap();

        assert!(matches!(refused, CommitError::Unavailable(Error::WritesRefused)), "{refused:?}");
        assert!(matches!(claimed, Error::WritesRefused), "{claimed:?}");
        assert!(leased.jobs.is_empty() && leased.looked.iter().all(|looked| looked.next == Next::Due(None)));
        assert_eq!((settled, store.look_up(crate::LAYOUT).await.unwrap()), (7, None), "and no layout is noted");
        let found = looked_at.record(&tenant, "source", Lookup::Id("dc_1")).await.unwrap().unwrap();
        assert_eq!((found.version, &found.value[..]), (1, &b"one"[..]));
        assert_eq!(store.lease(&all, SOON, Shares::default()).await.unwrap().jobs.len(), 1, "the job still waits");
    }
}
