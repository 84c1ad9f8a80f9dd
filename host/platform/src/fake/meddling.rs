//! A store in which something happens before a commit: another request comes in between, or the host dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use store::{
    Batch, CommitError, Committed, Directory, DirectoryWrite, Entry, EntryId, EntryQuery, Error, Head, Job, Keys,
    Lease, LeaseRequest, Leased, Live, Lookup, Page, Partition, Pulse, Reads, Record, Records, Shares, Store,
    StreamInfo, Tenant, Tick, Values, Work,
};

use crate::{Parts, Platform, Programs};

/// What goes wrong with a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitFault {
    None,
    /// The host is dead: neither this nor anything after it happens.
    HostDied,
    /// It happens, and its answer is lost.
    AnswerLost,
}

type Meddle = Box<dyn Fn(usize) -> BoxFuture<'static, CommitFault> + Send + Sync>;

pub(crate) struct Meddling {
    inner: Arc<dyn Store>,
    commits: AtomicUsize,
    meddle: Meddle,
}

/// The same platform on another store.
pub(crate) fn on_store(platform: &Platform, store: Arc<dyn Store>) -> Platform {
    Platform::new(Parts {
        store,
        sandbox: platform.sandbox.clone(),
        linker: platform.linker.clone(),
        outbound: platform.outbound.clone(),
        relays: platform.relays.clone(),
        clock: platform.clock.clone(),
        entropy: platform.entropy.clone(),
        telemetry: None,
        vault: platform.vault.clone(),
        programs: Programs::default(),
        config: platform.config.clone(),
    })
}

/// The same platform, asking before each of its commits, which are counted from zero.
pub(crate) fn meddled(
    platform: &Platform,
    meddle: impl Fn(usize) -> BoxFuture<'static, CommitFault> + Send + Sync + 'static,
) -> (Platform, Arc<Meddling>) {
    let inner = platform.store.clone();
    let store = Arc::new(Meddling { inner, commits: AtomicUsize::new(0), meddle: Box::new(meddle) });
    (on_store(platform, store.clone()), store)
}

// === impl Meddling ===

impl Meddling {
    /// How many commits were asked for.
    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Store for Meddling {
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let number = self.commits.fetch_add(1, Ordering::SeqCst);
        match (self.meddle)(number).await {
            CommitFault::None => self.inner.commit(batch).await,
            CommitFault::HostDied => Err(CommitError::Unavailable(Error::Closed)),
            CommitFault::AnswerLost => {
                self.inner.commit(batch).await?;
                Err(CommitError::Unavailable(Error::Closed))
            }
        }
    }

    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        self.inner.follow(tenant, emitter).await
    }

    fn partitions(&self) -> u16 {
        self.inner.partitions()
    }
}

#[async_trait]
impl Reads for Meddling {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error> {
        self.inner.record(tenant, kind, lookup).await
    }

    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error> {
        self.inner.records(tenant, kind, page).await
    }

    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error> {
        self.inner.streams(tenant, emitter).await
    }

    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error> {
        self.inner.last_entry(tenant, emitter).await
    }

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error> {
        self.inner.entries(tenant, emitter, stream, query).await
    }

    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error> {
        self.inner.values(tenant, scope, keys).await
    }

    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error> {
        self.inner.keys(tenant, scope, after, limit).await
    }

    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error> {
        self.inner.counters(tenant, counters).await
    }

    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        self.inner.stored_bytes(tenant).await
    }
}

#[async_trait]
impl Work for Meddling {
    async fn lease_jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<Leased<Job>, Error> {
        self.inner.lease_jobs(partitions, request, shares).await
    }

    async fn lease_timers(&self, partitions: &[Partition], request: LeaseRequest) -> Result<Leased<Tick>, Error> {
        self.inner.lease_timers(partitions, request).await
    }

    async fn extend(&self, _tenant: &Tenant, _lease: &Lease, _until_ms: u64) -> Result<(), CommitError> {
        // The dead give nothing back: their leases run out.
        Err(CommitError::Unavailable(Error::Closed))
    }

    async fn load(&self, now_ms: u64) -> Result<store::Load, Error> {
        self.inner.load(now_ms).await
    }

    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error> {
        self.inner.heads(tenant, skip, limit).await
    }

    fn pulse(&self) -> &Pulse {
        self.inner.pulse()
    }
}

#[async_trait]
impl Directory for Meddling {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error> {
        self.inner.look_up(key).await
    }

    async fn write_directory(&self, write: DirectoryWrite) -> Result<bool, Error> {
        self.inner.write_directory(write).await
    }
}
