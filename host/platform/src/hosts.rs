//! The hosts that share the store: this one says that it is there, and knows the others.
//!
//! What follows from it: which host looks first for the work of a partition, whose clock differs, and whether hosts agree
//! in what must be the same on all of them. Nothing here decides who owns work: that is the lease alone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use store::{Beat, FIRST_LAYOUT, Heartbeat, Member, Partition, Sharing, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ports::{Entropy, SystemEntropy};
use crate::records::LAYOUT;
use crate::{Caller, Error, Platform};

/// Together with a look for work every three seconds, an idle host costs one command a second.
pub(crate) const BEAT_MS: u64 = 1500;
/// A heartbeat that failed is tried again after this.
const RETRY_MS: u64 = 500;
/// Beyond it a host says that its clock is off.
const CLOCK_OFF_MS: i64 = 2000;
/// A host that was not heard of for two heartbeats and a bit is gone: with the heartbeat that finds it, within five seconds.
pub(crate) const GONE_AFTER_MS: u64 = 3300;

/// What a host tells of itself that stays the same while it runs.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// For people: the name of the machine.
    pub name: String,
    /// What it is reached at.
    pub address: String,
    pub version: String,
    /// What must be the same on all hosts, by name; secrets as hashes.
    pub settings: BTreeMap<String, String>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// The newest layout that it reads: [`LAYOUT`], unless a test lets it be an older version.
    pub reads: u32,
}

/// A host, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    #[serde(skip_deserializing)]
    pub id: String,
    pub name: String,
    pub address: String,
    pub version: String,
    /// The newest layout of records that it reads, and the one that it writes: the newest that all hosts read.
    pub reads: u32,
    pub writes: u32,
    pub started_at_ms: u64,
    /// By the store's clock.
    #[serde(skip_deserializing)]
    pub seen_at_ms: u64,
    /// Requests and jobs that it works on.
    pub in_flight: u64,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// How much its own clock is ahead of the store's.
    pub clock_offset_ms: i64,
    /// Whether it is the one that was asked.
    #[serde(skip_deserializing)]
    pub is_this_one: bool,
    /// Settings that must agree and do not.
    #[serde(skip_deserializing)]
    pub differs_in: Vec<String>,
}

/// What a host writes into the store for the others.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct About {
    host: Host,
    settings: BTreeMap<String, String>,
}

pub struct Hosts {
    id: String,
    config: Mutex<HostConfig>,
    started_at_ms: u64,
    /// The layout that records are written in.
    writes: AtomicU32,
    /// The ids of those that are there; empty when this process has the store to itself.
    known: watch::Sender<Arc<[String]>>,
    version: Mutex<u64>,
    told: Mutex<Told>,
    count: Mutex<Option<Count>>,
}

type Count = Box<dyn Fn() -> u64 + Send>;

/// What was said already, so that each thing is said once.
#[derive(Default)]
struct Told {
    is_clock_off: bool,
    differences: Vec<String>,
}

// === impl HostConfig ===

impl Default for HostConfig {
    fn default() -> Self {
        let (name, address, version) = Default::default();
        Self { name, address, version, settings: BTreeMap::new(), read_only: false, reads: LAYOUT }
    }
}

// === impl Host ===

impl Default for Host {
    /// A host that says nothing of layouts is older than they are.
    fn default() -> Self {
        let (id, name, address, version) = Default::default();
        Self {
            id,
            name,
            address,
            version,
            reads: FIRST_LAYOUT,
            writes: FIRST_LAYOUT,
            started_at_ms: 0,
            seen_at_ms: 0,
            in_flight: 0,
            read_only: false,
            clock_offset_ms: 0,
            is_this_one: false,
            differs_in: Vec::new(),
        }
    }
}

// === impl Hosts ===

impl Hosts {
    pub(crate) fn new(started_at_ms: u64, sharing: Sharing) -> Self {
        let entropy: &dyn Entropy = &SystemEntropy;
        Self {
            // Unique among hosts and their restarts; nothing is derived from it, so it is not the platform's to decide.
            id: hex::encode(entropy.bytes::<8>()),
            config: Mutex::default(),
            started_at_ms,
            // What hosts that share a store may write is what they hear first.
            writes: AtomicU32::new(if sharing == Sharing::Alone { LAYOUT } else { FIRST_LAYOUT }),
            known: watch::Sender::new(Arc::default()),
            version: Mutex::default(),
            told: Mutex::default(),
            count: Mutex::default(),
        }
    }

    /// What this host says of itself from now on.
    pub fn describe(&self, config: HostConfig) {
        *lock(&self.config) = config;
    }

    /// The newest layout that this host reads.
    pub(crate) fn reads(&self) -> u32 {
        lock(&self.config).reads
    }

    /// The layout that records are written in: the newest that every host reads.
    pub(crate) fn writes(&self) -> u32 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Takes over what the hosts have settled on.
    pub fn write_layout(&self, layout: u32) {
        let before = self.writes.swap(layout, Ordering::Relaxed);
        if before != layout {
            tracing::info!(layout, before, "every host reads this layout: records are written in it from now on");
        }
    }

    /// How many requests and jobs this host works on.
    pub fn count_with(&self, count: impl Fn() -> u64 + Send + 'static) {
        *lock(&self.count) = Some(Box::new(count));
    }

    /// How many hosts there are, this one included.
    pub(crate) fn count(&self) -> u64 {
        self.known.borrow().len().max(1) as u64
    }

    /// Changes when a host came or went.
    pub(crate) fn changes(&self) -> watch::Receiver<Arc<[String]>> {
        self.known.subscribe()
    }

    /// Whether this host is the one that looks first for work of the partition. Of several views of the hosts, which
    /// there are for a moment, each gives every partition to one of them: at worst two look, or none before a second.
    pub(crate) fn is_preferred(&self, partition: Partition) -> bool {
        preferred(&self.known.borrow(), partition).is_none_or(|host| *host == self.id)
    }

    fn about(&self, clock_offset_ms: i64) -> About {
        let HostConfig { name, address, version, settings, read_only, reads } = lock(&self.config).clone();
        let writes = self.writes();
        let (id, started_at_ms) = (self.id.clone(), self.started_at_ms);
        let in_flight = lock(&self.count).as_ref().map_or(0, |count| count());
        let described = Host { id, name, address, version, reads, writes, started_at_ms, ..Host::default() };
        About { host: Host { in_flight, read_only, clock_offset_ms, ..described }, settings }
    }

    /// The names of the settings that are not as here.
    fn differences(&self, other: &BTreeMap<String, String>) -> Vec<String> {
        let own = lock(&self.config).settings.clone();
        let is_other = |(name, value): &(String, String)| other.get(name).is_some_and(|other| other != value);
        own.into_iter().filter(is_other).map(|(name, _)| name).collect()
    }

    /// Takes in what the store answered. Tells whether a host is gone, whose work may be waiting.
    pub(crate) fn note(&self, heartbeat: &Heartbeat) -> bool {
        *lock(&self.version) = heartbeat.version;
        self.write_layout(heartbeat.layout);
        let Some(members) = &heartbeat.members else { return false };
        let ids: Arc<[String]> = members.iter().map(|member| member.host.clone()).collect();
        let before = self.known.send_replace(ids.clone());
        let gone: Vec<&String> = before.iter().filter(|id| !ids.contains(id)).collect();
        for id in &gone {
            tracing::warn!(host.id = id, hosts = ids.len(), "a host is gone: its work is taken over");
        }
        self.compare(members);
        !gone.is_empty()
    }

    /// Says what is set differently on another host, once.
    fn compare(&self, members: &[Member]) {
        let mut differences: Vec<String> = Vec::new();
        for About { host, settings } in members.iter().filter(|member| member.host != self.id).filter_map(read) {
            let names = self.differences(&settings);
            if !names.is_empty() {
                differences.push(format!("{} ({}): {}", host.name, host.address, names.join(", ")));
            }
        }
        let mut told = lock(&self.told);
        for difference in differences.iter().filter(|difference| !told.differences.contains(difference)) {
            tracing::warn!(
                difference,
                "a host on the same store is set differently; settings that decide about tenants must agree"
            );
        }
        told.differences = differences;
    }

    fn judge_clock(&self, offset_ms: i64) {
        let is_off = offset_ms.abs() > CLOCK_OFF_MS;
        let was_off = std::mem::replace(&mut lock(&self.told).is_clock_off, is_off);
        if is_off && !was_off {
            tracing::warn!(
                offset_ms,
                "the clock of this machine differs from the store's; the store's is used. Synchronise it, for instance with chrony"
            );
        } else if was_off && !is_off {
            tracing::info!("the clock of this machine agrees with the store's again");
        }
    }
}

/// Rendezvous hashing: when a host comes or goes, only the partitions that prefer it move.
pub(crate) fn preferred(hosts: &[String], partition: Partition) -> Option<&String> {
    hosts.iter().max_by_key(|host| (weight(host, partition), *host))
}

fn weight(host: &str, partition: Partition) -> u64 {
    let bytes = host.bytes().chain(partition.index().to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // The last bytes alone would decide about neighbours; this spreads them over all bits.
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn read(member: &Member) -> Option<About> {
    let About { host, settings } = serde_json::from_slice(&member.about).ok()?;
    Some(About { host: Host { id: member.host.clone(), seen_at_ms: member.seen_ms, ..host }, settings })
}

/// How many of the hosts that use a store may change it. One that cannot be read is newer, and may.
pub async fn count_writers(store: &dyn Store) -> Result<usize, Error> {
    let members = store.members(GONE_AFTER_MS).await?;
    Ok(members.iter().filter(|member| !read(member).is_some_and(|about| about.host.read_only)).count())
}

/// The hosts that are there, for the operator. A process that has its store to itself is the only one.
pub async fn list(caller: &Caller, platform: &Platform) -> Result<Vec<Host>, Error> {
    caller.require_admin()?;
    let hosts = platform.hosts();
    if platform.store.sharing() == Sharing::Alone {
        let host = hosts.about(0).host;
        return Ok(vec![Host { seen_at_ms: platform.clock.now_ms(), is_this_one: true, ..host }]);
    }
    let members = platform.store.members(GONE_AFTER_MS).await?;
    let shown = |About { host, settings }: About| {
        let (is_this_one, differs_in) = (host.id == hosts.id, hosts.differences(&settings));
        Host { is_this_one, differs_in, ..host }
    };
    let mut found: Vec<Host> = members.iter().filter_map(read).map(shown).collect();
    found.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
    Ok(found)
}

/// Says every few moments that this host is there, until it stops; then that it goes. Returns at once where only one
/// process has the store. False when this host may not go on: others write a layout by now that it cannot read, because they
/// did not hear of it for a while.
#[boxed]
pub async fn run(platform: Platform, shutdown: CancellationToken) -> bool {
    loop {
        let next_ms = match beat(&platform).await {
            Ok(true) => BEAT_MS,
            Ok(false) => return true,
            Err(Error::Store(error @ store::Error::NewerLayout { .. })) => {
                tracing::error!(%error, "other hosts have upgraded the store while this one was not heard of: it stops");
                return false;
            }
            Err(error) => {
                tracing::debug!(%error, "the store could not be told that this host is there");
                platform.store.pulse().store_is_away();
                RETRY_MS
            }
        };
        let at_ms = platform.clock.now_ms().saturating_add(next_ms);
        // Cancel-safe: a sleep holds nothing.
        if shutdown.run_until_cancelled(platform.clock.sleep_until(at_ms)).await.is_none() {
            break;
        }
    }
    if let Err(error) = platform.store.leave(&platform.hosts().id).await {
        tracing::debug!(%error, "the store could not be told that this host goes");
    }
    true
}

/// One heartbeat. False where only one process has the store.
pub async fn beat(platform: &Platform) -> Result<bool, Error> {
    let (hosts, clock) = (platform.hosts(), &platform.clock);
    let about = serde_json::to_vec(&hosts.about(clock.offset_ms())).unwrap_or_default();
    let known = *lock(&hosts.version);
    let sent_us = clock.now_us();
    let reads = hosts.reads();
    let beat = Beat { host: &hosts.id, about: &about, known, gone_after_ms: GONE_AFTER_MS, reads };
    let Some(heartbeat) = platform.store.beat(beat).await? else { return Ok(false) };
    clock.follow(heartbeat.now_us, clock.now_us().saturating_sub(sent_us));
    hosts.judge_clock(clock.offset_ms());
    if hosts.note(&heartbeat) {
        platform.store.pulse().work_is_there();
    }
    Ok(true)
}

fn lock<Held>(mutex: &Mutex<Held>) -> MutexGuard<'_, Held> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use store::Partition;

    use super::preferred;

    fn hosts(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{:016x}", number * 0x9e37_79b9)).collect()
    }

    #[test]
    fn partitions_are_spread_over_hosts_and_only_those_of_one_that_went_move() {
        let (three, two) = (hosts(3), hosts(2));
        let all = Partition::all(256);
        let of = |hosts: &[String]| -> Vec<String> {
            all.iter().map(|partition| preferred(hosts, *partition).unwrap().clone()).collect()
        };

        let (with_three, with_two) = (of(&three), of(&two));

        for host in &three {
            let count = with_three.iter().filter(|preferred| *preferred == host).count();
            assert!((50..=120).contains(&count), "{host} has {count} of 256");
        }
        let moved = with_three.iter().zip(&with_two).filter(|(before, after)| before != after);
        assert!(moved.into_iter().all(|(before, _)| before == &three[2]));
        assert_eq!(preferred(&[], all[0]), None);
    }
}
