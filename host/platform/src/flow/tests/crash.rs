//! A host that dies at any of its commits, before it happened or after.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::json;
use store::fake::Memory;
use store::{
    Batch, CommitError, Committed, Directory, DirectoryWrite, Entry, EntryId, EntryQuery, Error, Head, Job, Keys,
    Lease, LeaseRequest, Leased, Live, Lookup, Page, Partition, Pulse, Reads, Record, Records, Shares, Store,
    StreamInfo, Tenant, Tick, Values, Work,
};

use super::Stage;
use crate::flow::{Config, Flow};
use crate::{Parts, Platform, Programs};

/// The memory of the world, seen by a host that dies: from commit number `dies_at` on nothing is answered any more.
struct DyingStore {
    memory: Arc<Memory>,
    commits: AtomicUsize,
    dies_at: usize,
    /// The last commit happened, and only its answer was lost.
    dies_after: bool,
}

#[async_trait]
impl Store for DyingStore {
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        if number < self.dies_at {
            return self.memory.commit(batch).await;
        }
        if number == self.dies_at && self.dies_after {
            self.memory.commit(batch).await?;
        }
        Err(CommitError::Unavailable(Error::Closed))
    }

    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        self.memory.follow(tenant, emitter).await
    }

    fn partitions(&self) -> u16 {
        self.memory.partitions()
    }
}

#[async_trait]
impl Reads for DyingStore {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error> {
        self.memory.record(tenant, kind, lookup).await
    }

    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error> {
        self.memory.records(tenant, kind, page).await
    }

    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error> {
        self.memory.streams(tenant, emitter).await
    }

    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error> {
        self.memory.last_entry(tenant, emitter).await
    }

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error> {
        self.memory.entries(tenant, emitter, stream, query).await
    }

    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error> {
        self.memory.values(tenant, scope, keys).await
    }

    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error> {
        self.memory.keys(tenant, scope, after, limit).await
    }

    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error> {
        self.memory.counters(tenant, counters).await
    }

    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        self.memory.stored_bytes(tenant).await
    }
}

#[async_trait]
impl Work for DyingStore {
    async fn lease_jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<Leased<Job>, Error> {
        self.memory.lease_jobs(partitions, request, shares).await
    }

    async fn lease_timers(&self, partitions: &[Partition], request: LeaseRequest) -> Result<Leased<Tick>, Error> {
        self.memory.lease_timers(partitions, request).await
    }

    async fn extend(&self, _tenant: &Tenant, _lease: &Lease, _until_ms: u64) -> Result<(), CommitError> {
        // The dead give nothing back: their leases run out.
        Err(CommitError::Unavailable(Error::Closed))
    }

    async fn load(&self, now_ms: u64) -> Result<store::Load, Error> {
        self.memory.load(now_ms).await
    }

    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error> {
        self.memory.heads(tenant, skip, limit).await
    }

    fn pulse(&self) -> &Pulse {
        self.memory.pulse()
    }
}

#[async_trait]
impl Directory for DyingStore {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error> {
        self.memory.look_up(key).await
    }

    async fn write_directory(&self, write: DirectoryWrite) -> Result<bool, Error> {
        self.memory.write_directory(write).await
    }
}

/// The same world through a host that dies.
fn mortal(stage: &Stage, dies_at: usize, dies_after: bool) -> Platform {
    let world = &stage.world;
    let store = DyingStore { memory: world.store.clone(), commits: AtomicUsize::new(0), dies_at, dies_after };
    Platform::new(Parts {
        store: Arc::new(store),
        sandbox: world.sandbox.clone(),
        linker: world.platform.linker.clone(),
        outbound: world.outbound.clone(),
        clock: world.clock.clone(),
        entropy: world.platform.entropy.clone(),
        spans: None,
        vault: world.platform.vault.clone(),
        programs: Programs::default(),
        config: world.platform.config.clone(),
    })
}

/// A slow source, a source that listens to it, and a webhook that listens to both. One request comes in,
/// its host dies at a commit, and another host finishes what was accepted.
async fn survive(dies_at: usize, dies_after: bool) {
    let mut stage = Stage::new().await;
    let hold = stage.script_slow();
    let (slow, listener) = (stage.endpoint("slow", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(slow.id.as_str(), listener.id.as_str(), "").await;
    stage.webhook("https://example.com/hook").await;

    let immortal = stage.handle.clone();
    (stage.handle, _) = Flow::new(mortal(&stage, dies_at, dies_after), stage.world.chores(), Config::default());
    let asking = stage.post_aside(&slow, json!("once"));
    hold.started.notified().await;
    stage.world.clock.advance(5);
    let answer = asking.await.unwrap();
    hold.released.notify_one();
    stage.wait_for_runs().await;
    stage.work().await;
    stage.handle = immortal;
    // Whatever the dead one held is free again, and what it accepted is due.
    for _ in 0..5 {
        hold.released.notify_one();
        stage.world.clock.advance(60_000);
        stage.work().await;
    }

    let case = format!("dies at commit {dies_at}, after it: {dies_after}");
    let events = stage.stream(&slow, "default").await;
    let heard = stage.stream(&listener, "default").await;
    let posted = stage.posted().len();
    match answer {
        Ok(_) => assert_eq!(events, [json!("once")], "{case}"),
        Err(_) => assert!(events.len() <= 1, "{case}"),
    }
    assert_eq!(heard, events, "{case}");
    assert!(posted >= events.len() + heard.len(), "{case}");
}

#[tokio::test]
async fn nothing_accepted_is_lost_and_nothing_applied_twice_wherever_the_host_dies() {
    // Acceptance, run, run of the listener, two deliveries; beyond that no host dies.
    for dies_at in 0..8 {
        survive(dies_at, false).await;
        survive(dies_at, true).await;
    }
}
