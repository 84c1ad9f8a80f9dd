//! The engine for several hosts: Redis 7 or Valkey, one server or a cluster.
//!
//! # Keys
//!
//! All begin with the namespace (`ws` unless told otherwise). Everything of a partition carries its
//! hash tag, so a commit is one call of a function on one slot; commits made at the same time share one (`group.rs`). `t` is a tenant; `kind` and `emitter` are escaped.
//!
//! | key | what |
//! |---|---|
//! | `ws:partitions` | how many partitions there are, written once |
//! | `ws:directory:<key>` | one lookup, in any slot |
//! | `ws:{p3}:record:t:kind:id` | hash: value, version, position, alias |
//! | `ws:{p3}:records:t:kind` | sorted set of ids by position |
//! | `ws:{p3}:kinds:t`, `ws:{p3}:emitters:t` | the kinds of its records, the emitters with streams |
//! | `ws:{p3}:alias:t:kind` | hash: alias to id |
//! | `ws:{p3}:stream:t:emitter:name` | stream; the ids are ours |
//! | `ws:{p3}:streams:t:emitter`, `ws:{p3}:last:t:emitter` | names of its streams, its last id |
//! | `ws:{p3}:state:t:scope`, `ws:{p3}:sizes:t` | hash of values; bytes of each scope |
//! | `ws:{p3}:counter:t:name` | number |
//! | `ws:{p3}:job:<id>` | hash: tenant, lane, due, attempt, entry, payload, token |
//! | `ws:{p3}:queued:t` | hash: how many jobs the tenant has, and the bytes of their payloads |
//! | `ws:{p3}:heads:t`, `ws:{p3}:lane:t:lane` | jobs that may be leased by time; a lane's jobs in order |
//! | `ws:{p3}:waiting`, `ws:{p3}:ring` | tenants by their earliest job, or earlier; tenants whose turn it is |
//! | `ws:{p3}:timers`, `ws:{p3}:timer:t:id` | timers by time; hash: due, schedule, token |
//! | `ws:{p3}:position`, `:jobs`, `:token`, `:turn` | sequences |
//! | `ws:{p3}:done:<client>:<call>` | number and answers of its last group of commits, for two minutes |
//! | `ws:{p3}:live:t:emitter` | there while a host has readers of the emitter, and the channel they are told on (`live.lua`) |
//! | `ws:{p3}:live` | there while any emitter has readers; on one server only that of the first partition |
//! | `ws:{hosts}:seen`, `:about`, `:version` | hosts by when they were seen, what they say, changes with each that comes or goes |
//! | `ws:{hosts}:reads`, `:layout` | the newest layout that each host reads, and the one that all write |
//! | `ws:moving`, `ws:{p3}:transfer` | there while a move from another store is unfinished: how many rows are in |
//! | `ws:lent:<name>` | bytes that a host lends to the others, for some seconds |
//! | `ws:neighbours` | channel: what hosts say to each other |
//! | `ws:pulse` | channel: who sends it, whether it is busy, and which partitions have work from when on |
//!
//! # How durable
//!
//! As durable as the server is told to be: `appendonly yes` with `appendfsync always` survives a
//! power cut, `everysec` may lose the last second. `maxmemory-policy` must be `noeviction`. A
//! fail-over to a replica loses what was not yet replicated, unless [`Durability::Replica`] has commits wait for one.
//! Which of these a server does is asked by `keeping.rs`.
//!
//! A group of commits is numbered by the client and its answers are kept for two minutes, longer than
//! a client retries: a retry after a lost connection gets the old answers and changes nothing. `SCRIPT
//! FLUSH` costs one round trip, `FUNCTION FLUSH` two.

mod address;
mod cluster;
mod decode;
mod encode;
mod group;
mod keeping;
mod leases;
mod link;
mod live;
mod members;
mod neighbours;
mod node;
mod reading;
mod scripts;
mod sentinel;
pub(crate) mod transfer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ::redis::{PushInfo, PushKind, Value, cmd, from_redis_value};
use async_recursion::async_recursion as boxed;
use async_trait::async_trait;
use bytes::Bytes;
use metrics::Family;

use self::address::Address;
use self::decode::Row;
use self::encode::{Arguments, escape};
use self::group::{Groups, Member};
use self::leases::{Extensions, Held, Wanted};
use self::link::Link;
use self::live::Lives;
use self::neighbours::{Hearing, Talk};
use crate::numbers::Numbers;
use crate::remembered::Remembered;
use crate::{
    Batch, Beat, CommitError, Committed, Directory, DirectoryWrite, Error, Head, Heartbeat, Job, JobId, Keeping, Lease,
    LeaseRequest, Leased, LeasedWork, Live, Load, MAX_LEASES, Neighbours, Op, Options, Origin, PARTITIONS, Partition,
    Pulse, Records, Shares, Sharing, Store, Tenant, Tick, Work, readable,
};

/// Tenants of a partition with jobs that one look at the load visits; jobs of further ones are not counted.
const TENANTS_LOOKED_AT: usize = 1000;

pub struct Redis {
    link: Link,
    groups: Groups,
    namespace: String,
    partitions: u16,
    pulse: Pulse,
    lives: Lives,
    extensions: Extensions,
    remembered: Arc<Remembered>,
    talk: Arc<Talk>,
    /// Where the next round over the partitions begins, so that none is always last.
    rounds: AtomicU64,
    numbers: Arc<Numbers>,
}

impl Redis {
    /// With the options of an installation whose keys begin with `namespace`.
    pub async fn connect(address: &str, namespace: &str) -> Result<Self, Error> {
        Self::open(address, Options { prefix: namespace.to_owned(), ..Options::default() }).await
    }

    /// The forms of an address are in `address.rs`. Installations that share a server have different prefixes.
    #[boxed]
    pub async fn open(address: &str, options: Options) -> Result<Self, Error> {
        options.check()?;
        let namespace = options.prefix.clone();
        let (pulse, channel) = (Pulse::new(), format!("{namespace}:pulse"));
        let client = format!("{:016x}", getrandom::u64()?);
        let remembered = Arc::<Remembered>::default();
        let hearing = Hearing::new(&namespace, &client);
        let ears = (pulse.clone(), client.clone(), remembered.clone(), hearing.clone());
        let hear = move |message: PushInfo| {
            hear_changes(&ears.2, &message);
            if !ears.3.hear(&message) {
                hear(&ears.0, &ears.1, message);
            }
        };
        let address = Address::parse(address, &options.tls)?;
        let link = Link::open_patiently(address.clone(), &options, hear).await?;
        link.subscribe(&channel).await?;
        let talk = Arc::new(Talk::begin(link.clone(), &namespace, hearing).await?);
        let key = format!("{namespace}:partitions");
        let _: bool = link.ask(cmd("SETNX").arg(&key).arg(PARTITIONS)).await?;
        let partitions = link.ask(cmd("GET").arg(&key)).await?;
        let lines = Partition::all(if link.is_cluster() { partitions } else { 1 });
        let homes: Vec<String> = lines.into_iter().map(|line| prefix(&namespace, line)).collect();
        let numbers = Arc::<Numbers>::default();
        let groups = Groups::new((link.clone(), numbers.clone()), pulse.clone(), (client, channel), &homes);
        let lives = Lives::new((address, options), link.clone());
        let (extensions, rounds) = (Extensions::new(link.clone()), AtomicU64::new(0));
        Ok(Self { link, groups, namespace, partitions, pulse, lives, extensions, remembered, talk, rounds, numbers })
    }

    fn record_key(&self, tenant: &Tenant, kind: &str, id: &str) -> String {
        format!("{}:record:{tenant}:{}:{id}", self.prefix_of(tenant), escape(kind))
    }

    /// Of the records that a batch changes.
    fn record_keys(&self, batch: &Batch) -> Vec<String> {
        let key = |operation: &Op| match operation {
            Op::PutRecord { kind, id, .. } | Op::DeleteRecord { kind, id } => {
                Some(self.record_key(&batch.tenant, kind, id))
            }
            _ => None,
        };
        batch.operations.iter().filter_map(key).collect()
    }

    fn prefix_of(&self, tenant: &Tenant) -> String {
        prefix(&self.namespace, tenant.partition(self.partitions))
    }

    async fn read_records(&self, tenant: &Tenant, kind: &str, question: &Arguments) -> Result<Records, Error> {
        let mut arguments = Arguments::default();
        arguments.text(tenant.as_str()).text(&escape(kind)).append(question);
        let mut answer: Row = self.link.run(&scripts::RECORDS, &[&self.prefix_of(tenant)], &arguments).await?;
        let total = answer.take()?;
        let items = answer.rest()?.into_iter().map(Row::record).collect::<Result<_, _>>()?;
        Ok(Records { items, total })
    }

    /// The memory of the server, also that of others who share it. Of a cluster it is not known: each node has its own.
    async fn used_bytes(&self) -> Result<Option<u64>, Error> {
        if self.link.is_cluster() {
            return Ok(None);
        }
        let information: String = self.link.ask(cmd("INFO").arg("memory")).await?;
        let used = information.lines().find_map(|line| line.strip_prefix("used_memory:"));
        Ok(used.and_then(|used| used.trim().parse().ok()))
    }

    /// Begins with another partition each time.
    fn next_first(&self, partitions: usize) -> usize {
        let count = u64::try_from(partitions).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.rounds.fetch_add(1, Ordering::Relaxed) % count).unwrap_or_default()
    }
}

#[async_trait]
impl Store for Redis {
    #[expect(clippy::disallowed_methods, reason = "measures commits for the metrics")]
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        batch.check()?;
        let batch = batch.with_parts_alone()?;
        let begun = Instant::now();
        let partition = batch.tenant.partition(self.partitions);
        let changed = self.record_keys(&batch);
        let answer =
            self.groups.commit(partition, Member::new(prefix(&self.namespace, partition), &batch, partition)).await;
        // The server says so as well, after it has answered: what this host has changed counts here at once.
        self.remembered.forget(changed.iter().map(String::as_str));
        self.numbers.committed(begun.elapsed(), answer.is_err());
        decode::committed(&answer?, &batch.operations)
    }

    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        let partition = tenant.partition(self.partitions);
        let any = self.groups.live_key(partition).ok_or(Error::Closed)?;
        self.lives.follow(tenant, emitter, (&prefix(&self.namespace, partition), any)).await
    }

    fn partitions(&self) -> u16 {
        self.partitions
    }

    fn sharing(&self) -> Sharing {
        if self.link.is_cluster() { Sharing::Cluster } else { Sharing::Server }
    }

    async fn beat(&self, beat: Beat<'_>) -> Result<Option<Heartbeat>, Error> {
        self.say(beat).await.map(Some)
    }

    /// Heartbeats settle it.
    async fn settle_layout(&self, reads: u32) -> Result<u32, Error> {
        let written = self.stored_layout().await?.unwrap_or(crate::FIRST_LAYOUT);
        readable(written, reads)?;
        Ok(written)
    }

    async fn leave(&self, host: &str) -> Result<(), Error> {
        self.say_goodbye(host).await
    }

    async fn members(&self, within_ms: u64) -> Result<Vec<crate::Member>, Error> {
        self.list_members(within_ms).await
    }

    fn neighbours(&self) -> Option<Arc<dyn Neighbours>> {
        Some(self.talk.clone())
    }

    async fn keeping(&self) -> Result<Vec<(String, Keeping)>, Error> {
        self.ask_keeping().await
    }

    fn families(&self) -> Vec<Family> {
        let mut families = self.numbers.families();
        families.extend(self.link.families());
        families
    }
}

#[async_trait]
impl Work for Redis {
    async fn lease_jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<Leased<Job>, Error> {
        let wanted = Wanted { jobs: Some(MAX_LEASES), ticks: None, ticks_first: false };
        Ok(leases::jobs(self.lease_of(partitions, request, (wanted, shares)).await?, request.now_ms))
    }

    async fn lease_timers(&self, partitions: &[Partition], request: LeaseRequest) -> Result<Leased<Tick>, Error> {
        let wanted = Wanted { jobs: None, ticks: Some(MAX_LEASES), ticks_first: true };
        let leased = self.lease_of(partitions, request, (wanted, Shares::default())).await?;
        Ok(Leased { next_due_ms: leases::next_due_ms(&leased, request.now_ms), items: leased.ticks })
    }

    /// Ticks and jobs come first in turn, and the first take no more than half: neither waits for the other.
    async fn lease(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<LeasedWork, Error> {
        let ticks_first = self.rounds.load(Ordering::Relaxed).is_multiple_of(2);
        let half = request.max.div_ceil(2);
        let (jobs, ticks) = if ticks_first { (MAX_LEASES, half) } else { (half, MAX_LEASES) };
        let wanted = Wanted { jobs: Some(jobs), ticks: Some(ticks), ticks_first };
        self.lease_of(partitions, request, (wanted, shares)).await
    }

    async fn extend(&self, tenant: &Tenant, lease: &Lease, until_ms: u64) -> Result<(), CommitError> {
        self.extensions.extend(self.prefix_of(tenant), tenant, Held::Lease(lease), until_ms).await
    }

    async fn extend_hold(&self, tenant: &Tenant, job: JobId, until_ms: u64) -> Result<(), CommitError> {
        self.extensions.extend(self.prefix_of(tenant), tenant, Held::Hold(job), until_ms).await
    }

    async fn load(&self, now_ms: u64) -> Result<Load, Error> {
        let mut load = Load { size_bytes: self.used_bytes().await?, ..Load::default() };
        let mut arguments = Arguments::default();
        arguments.number(now_ms).number(TENANTS_LOOKED_AT);
        let all = Partition::all(self.partitions);
        // One call where one server has them all.
        for together in all.chunks(if self.link.is_cluster() { 1 } else { all.len().max(1) }) {
            let prefixes: Vec<String> = together.iter().map(|one| prefix(&self.namespace, *one)).collect();
            let keys: Vec<&str> = prefixes.iter().map(String::as_str).collect();
            let rows: Vec<Row> = self.link.run(&scripts::LOAD, &keys, &arguments).await?;
            for mut row in rows {
                let (jobs, oldest_job_ms) = (row.take()?, row.take()?);
                let (timers, oldest_tick_ms) = (row.take()?, row.take()?);
                load = load.plus(Load { jobs, oldest_job_ms, timers, oldest_tick_ms, size_bytes: None });
            }
        }
        Ok(load)
    }

    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error> {
        let Some(last) = skip.saturating_add(limit.min(MAX_LEASES)).checked_sub(1) else { return Ok(Vec::new()) };
        let mut arguments = Arguments::default();
        arguments.text(tenant.as_str()).number(skip).number(last);
        let rows: Vec<Row> = self.link.run(&scripts::HEADS, &[&self.prefix_of(tenant)], &arguments).await?;
        rows.into_iter().map(Row::head).collect()
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }
}

#[async_trait]
impl Directory for Redis {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let key = format!("{}:directory:{key}", self.namespace);
        let found: Option<Vec<u8>> = self.link.ask(cmd("GET").arg(key)).await?;
        Ok(found.map(Bytes::from))
    }

    async fn write_directory(&self, write: DirectoryWrite) -> Result<bool, Error> {
        let place = |key: &str| format!("{}:directory:{key}", self.namespace);
        match write {
            DirectoryWrite::Put { key, value } => {
                let () = self.link.ask(cmd("SET").arg(place(&key)).arg(&value[..])).await?;
                Ok(true)
            }
            DirectoryWrite::Claim { key, value } => {
                let _: bool = self.link.ask(cmd("SETNX").arg(place(&key)).arg(&value[..])).await?;
                Ok(self.look_up(&key).await? == Some(value))
            }
            DirectoryWrite::Remove { key } => {
                let () = self.link.ask(cmd("DEL").arg(place(&key))).await?;
                Ok(true)
            }
        }
    }
}

/// Of every key of the partition.
fn prefix(namespace: &str, partition: Partition) -> String {
    format!("{namespace}:{{p{}}}", partition.index())
}

/// A message of another host: wakes the workers of this one. This client's own commits have done so already. Messages may
/// have been missed while there was no connection, so then there may be work anywhere.
/// Reads that are remembered are sent with `CLIENT CACHING YES`: the server says on the same connection when such a key changes, whichever
/// host changed it.
fn hear_changes(remembered: &Remembered, message: &PushInfo) {
    match (&message.kind, message.data.first()) {
        (PushKind::Invalidate, Some(Value::Array(keys))) => {
            let keys: Vec<String> =
                keys.iter().filter_map(|key| from_redis_value::<String>(key.clone()).ok()).collect();
            remembered.forget(keys.iter().map(String::as_str));
        }
        // Everything was flushed, or messages may have been missed.
        (PushKind::Invalidate | PushKind::Disconnection, _) => remembered.forget_all(),
        _ => {}
    }
}

fn hear(pulse: &Pulse, client: &str, message: PushInfo) {
    match message.kind {
        PushKind::Disconnection => return pulse.work_is_there(),
        PushKind::Message => {}
        _ => return,
    }
    let payload = message.data.into_iter().nth(1).and_then(|value| from_redis_value::<String>(value).ok());
    let payload = payload.unwrap_or_default();
    let mut parts = payload.splitn(3, ':');
    let (Some(sender), Some(is_busy), Some(work)) = (parts.next(), parts.next(), parts.next()) else { return };
    if sender == client {
        return;
    }
    let origin = if is_busy == "1" { Origin::Busy } else { Origin::There };
    for (partition, due_ms) in work.split(',').filter_map(|part| part.split_once('=')) {
        if let (Ok(index), Ok(due_ms)) = (partition.parse(), due_ms.parse()) {
            pulse.work_in(Partition::at(index), due_ms, origin);
        }
    }
}

/// Scores come back as floating point numbers; ours are whole and exact.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scores are whole numbers up to 2^53 - 1")]
fn whole(score: f64) -> u64 {
    score as u64
}

#[cfg(test)]
mod tests;
