//! The engine for several hosts that have PostgreSQL: version 15 or newer, one server or one with standbys.
//!
//! Everything is in one schema (`schema.sql`), so that installations can share a database. The database keeps and locks; what is allowed and
//! what is next is decided here, in memory, on rows that are locked: a commit on those of its tenants (`commit.rs`), a lease on those of its
//! partition and the tenants it looks at (`leases.rs`). That makes a group of commits a few statements over arrays, which for groups of
//! many is several times as fast as a procedure that goes through it row by row (`docs/decisions/0023-postgres-measured.md`).
//!
//! Hosts hear of each other through `LISTEN` (`hearing.rs`), so a pooler between must give each client a session of its own.
//!
//! # How durable
//!
//! As durable as the server is told to be: with `fsync` and `synchronous_commit` on, which is how it comes, an answered commit survives a
//! power cut. With `synchronous_standby_names` it is on a standby as well. `keeping` tells which of these hold.

mod commit;
mod ears;
mod hearing;
mod leases;
mod link;
mod lives;
mod members;
mod reading;
mod rows;
mod schema;
mod tls;
pub(crate) mod transfer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use async_trait::async_trait;
use bytes::Bytes;
use metrics::Family;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use self::commit::{Groups, Shared};
use self::ears::Ears;
use self::leases::{Extensions, Held, Leases};
use self::link::{Line, Place, Question, Readers};
use self::lives::Lives;
use self::members::Talk;
use self::rows::{Fields, bytes, count, number, optional_count};
use self::tls::Connector;
use crate::numbers::{Numbers, RoundTrips};
use crate::remembered::Remembered;
use crate::{
    Batch, Beat, CommitError, Committed, Directory, DirectoryWrite, Durability, Error, Head, Heartbeat, Job, JobId,
    Keeping, Lease, LeaseRequest, Leased, LeasedWork, Live, Load, MAX_LEASES, Member, Neighbours, Op, Options,
    Partition, Pulse, Shares, Sharing, Store, Tenant, Tick, Work, readable,
};

/// Messages of other hosts that a listener may be behind: each is a few dozen bytes.
const BEHIND_AT_MOST: usize = 256;

/// The system counts these in seconds.
const SHORTEST_KEEPALIVE: Duration = Duration::from_secs(1);

/// The server cuts what is longer.
const LONGEST_NAME: usize = 63;

const LOOK_UP: &str = "SELECT value FROM directory WHERE key = $1";
const PUT: &str = "INSERT INTO directory VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const CLAIM: &str =
    "INSERT INTO directory VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = directory.value RETURNING value";
const REMOVE: &str = "DELETE FROM directory WHERE key = $1";
const LOAD: &str = "SELECT (SELECT coalesce(sum(jobs), 0)::bigint FROM tenants), \
     (SELECT min(h.head_ms) FROM (SELECT tenant FROM tenants WHERE turn IS NOT NULL OR earliest_ms <= $1 LIMIT 1000) t CROSS JOIN LATERAL \
     (SELECT min(available_ms) AS head_ms FROM jobs j WHERE j.tenant = t.tenant AND j.available_ms IS NOT NULL) h WHERE h.head_ms <= $1), \
     (SELECT count(*) FROM timers), (SELECT min(available_ms) FROM timers WHERE available_ms <= $1), \
     (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema AND c.relkind = 'r')";
const HEADS: &str = "SELECT j.available_ms, j.attempt, CASE WHEN j.lane IS NULL THEN 0 ELSE (SELECT count(*) - 1 FROM jobs b \
     WHERE b.tenant = j.tenant AND b.lane = j.lane) END, j.payload FROM jobs j \
     WHERE j.tenant = $1 AND j.available_ms IS NOT NULL ORDER BY j.available_ms, j.id LIMIT $3 OFFSET $2";
const KEEPING: &str = "SELECT current_setting('fsync'), current_setting('synchronous_commit'), pg_is_in_recovery(), \
     (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))";

pub struct Postgres {
    place: Arc<Place>,
    groups: Groups,
    readers: Readers,
    /// What is said of hosts and looked up: apart, so that it waits for nothing large.
    hosts: Line,
    leases: Leases,
    extensions: Extensions,
    lives: Arc<Lives>,
    talk: Arc<Talk>,
    remembered: Arc<Remembered>,
    partitions: u16,
    pulse: Pulse,
    /// Where the next round over the partitions begins, so that none is always last.
    rounds: AtomicUsize,
    numbers: Arc<Numbers>,
    _ears: JoinSet<()>,
}

/// Whether an address is one of this engine.
pub fn is_address(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

impl Postgres {
    /// The schema is the prefix of the options. Without `sslmode` in the address there is no TLS, and with it certificates are checked.
    #[boxed]
    pub async fn open(address: &str, options: Options) -> Result<Self, Error> {
        let mut config: Config = address.parse().map_err(|_| Error::PostgresAddress)?;
        options.check()?;
        if options.prefix.len() > LONGEST_NAME {
            return Err(Error::PostgresPrefix);
        }
        if options.durability == Durability::Replica {
            return Err(Error::PostgresReplica);
        }
        let is_plain = !address.contains("sslmode=") || config.get_ssl_mode() == SslMode::Disable;
        let has_certificates = options.tls.ca.is_some() || options.tls.client.is_some();
        let connector = match is_plain {
            true if has_certificates => return Err(Error::PlainAddress),
            true => Connector::plain(),
            false => Connector::with(&options.tls)?,
        };
        config.ssl_mode(if is_plain { SslMode::Disable } else { SslMode::Require });
        config
            .application_name("wellspring")
            .connect_timeout(options.patience)
            .keepalives_idle(options.patience.max(SHORTEST_KEEPALIVE));
        let place = Arc::new(Place {
            config,
            connector,
            schema: options.prefix,
            patience: options.patience,
            breaker: Arc::default(),
            round_trips: Arc::new(RoundTrips::to_postgres()),
        });
        let partitions = schema::settle(&place.connect().await?, &place.schema).await?;
        let client = format!("{:016x}", getrandom::u64()?);
        Self::begin(place, client, partitions).await
    }

    async fn begin(place: Arc<Place>, client: String, partitions: u16) -> Result<Self, Error> {
        let (pulse, numbers, remembered) = (Pulse::new(), Arc::<Numbers>::default(), Arc::<Remembered>::default());
        let lives = Arc::new(Lives::new(place.clone(), &client, partitions));
        let heard = broadcast::Sender::new(BEHIND_AT_MOST);
        let ears = Ears {
            place: place.clone(),
            client: client.clone(),
            pulse: pulse.clone(),
            remembered: remembered.clone(),
            lives: lives.clone(),
            heard: heard.clone(),
        };
        let (mut tasks, (ready, is_ready)) = (JoinSet::new(), oneshot::channel());
        tasks.spawn(ears.run(ready));
        tokio::time::timeout(place.patience, is_ready)
            .await
            .map_err(|_| Error::PostgresSilent)?
            .map_err(|_| Error::Closed)?;
        let talk = Talk { place: place.clone(), line: Line::new(place.clone()), client: client.clone(), heard };
        let (pulse_of_groups, numbers_of_groups) = (pulse.clone(), numbers.clone());
        let shared =
            Shared { place: place.clone(), client, partitions, pulse: pulse_of_groups, numbers: numbers_of_groups };
        Ok(Self {
            groups: Groups::new(&shared),
            readers: Readers::new(&place),
            hosts: Line::new(place.clone()),
            leases: Leases::new(&place),
            extensions: Extensions::new(place.clone()),
            lives,
            talk: Arc::new(talk),
            remembered,
            partitions,
            pulse,
            rounds: AtomicUsize::new(0),
            numbers,
            place,
            _ears: tasks,
        })
    }

    /// Begins with another partition each time.
    fn rotated(&self, partitions: &[Partition]) -> Vec<Partition> {
        let mut rotated = partitions.to_vec();
        let first = self.rounds.fetch_add(1, Ordering::Relaxed) % rotated.len().max(1);
        rotated.rotate_left(first);
        rotated
    }
}

#[async_trait]
impl Store for Postgres {
    #[expect(clippy::disallowed_methods, reason = "measures commits for the metrics")]
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        batch.check()?;
        let batch = batch.with_parts_alone()?;
        let begun = Instant::now();
        let name = |operation: &Op| match operation {
            Op::PutRecord { kind, id, .. } | Op::DeleteRecord { kind, id } => {
                Some(hearing::Names::of_record(&batch.tenant, kind, id))
            }
            _ => None,
        };
        let changed: Vec<String> = batch.operations.iter().filter_map(name).collect();
        let answer = self.groups.commit(batch).await;
        // What this host has changed counts here at once.
        self.remembered.forget(changed.iter().map(String::as_str));
        self.numbers.committed(begun.elapsed(), matches!(answer, Err(CommitError::Unavailable(_))));
        answer
    }

    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        self.lives.follow(tenant, emitter).await
    }

    fn partitions(&self) -> u16 {
        self.partitions
    }

    fn sharing(&self) -> Sharing {
        Sharing::Server
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

    async fn members(&self, within_ms: u64) -> Result<Vec<Member>, Error> {
        self.list_members(within_ms).await
    }

    fn neighbours(&self) -> Option<Arc<dyn Neighbours>> {
        Some(self.talk.clone())
    }

    /// In the words of Redis: whether there is a log, and when it is on disk.
    async fn keeping(&self) -> Result<Vec<(String, Keeping)>, Error> {
        let rows = self.hosts.ask(Question::of(KEEPING)).await?;
        let row = rows.first().ok_or(Error::PostgresAnswer)?;
        let (fsync, waits): (String, String) = (row.field(0)?, row.field(1)?);
        let keeping = Keeping {
            appends: Some(fsync == "on"),
            syncs: Some(if waits == "off" { "everysec" } else { "always" }.to_owned()),
            can_write: !row.field::<bool>(2)?,
            maximum_bytes: None,
            eviction: None,
            replicas: Some(count(row, 3)?),
        };
        Ok(vec![("PostgreSQL".to_owned(), keeping)])
    }

    fn families(&self) -> Vec<Family> {
        [self.numbers.families(), self.place.round_trips.families()].concat()
    }
}

#[async_trait]
impl Work for Postgres {
    async fn lease_jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<Leased<Job>, Error> {
        let (items, next) = self.leases.jobs(&self.rotated(partitions), request, shares).await?;
        Ok(Leased { items, next_due_ms: next.into_values().flatten().min() })
    }

    async fn lease_timers(&self, partitions: &[Partition], request: LeaseRequest) -> Result<Leased<Tick>, Error> {
        let (items, next) = self.leases.ticks(partitions, request).await?;
        Ok(Leased { items, next_due_ms: next.into_values().flatten().min() })
    }

    /// Ticks take no more than half, so that neither waits for the other.
    async fn lease(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<LeasedWork, Error> {
        let partitions = self.rotated(partitions);
        let half = LeaseRequest { max: request.max.div_ceil(2), ..request };
        let (ticks, next_ticks) = self.leases.ticks(&partitions, half).await?;
        let left = request.max.saturating_sub(u32::try_from(ticks.len()).unwrap_or(u32::MAX));
        let (jobs, next_jobs) = self.leases.jobs(&partitions, LeaseRequest { max: left, ..request }, shares).await?;
        let looked = leases::looked(&partitions, &next_ticks, &next_jobs);
        Ok(LeasedWork { jobs, ticks, looked })
    }

    async fn extend(&self, tenant: &Tenant, lease: &Lease, until_ms: u64) -> Result<(), CommitError> {
        self.extensions.extend(tenant, Held::Lease(lease), until_ms).await
    }

    async fn extend_hold(&self, tenant: &Tenant, job: JobId, until_ms: u64) -> Result<(), CommitError> {
        self.extensions.extend(tenant, Held::Hold(job), until_ms).await
    }

    async fn load(&self, now_ms: u64) -> Result<Load, Error> {
        let rows = self.readers.ask(LOAD, &[&number(now_ms)]).await?;
        let row = rows.first().ok_or(Error::PostgresAnswer)?;
        Ok(Load {
            jobs: count(row, 0)?,
            oldest_job_ms: optional_count(row, 1)?,
            timers: count(row, 2)?,
            oldest_tick_ms: optional_count(row, 3)?,
            size_bytes: optional_count(row, 4)?,
        })
    }

    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error> {
        let (skip, limit) = (i64::from(skip), i64::from(limit.min(MAX_LEASES)));
        let rows = self.readers.ask(HEADS, &[&tenant.as_str(), &skip, &limit]).await?;
        let head = |row: &tokio_postgres::Row| {
            Ok(Head {
                available_ms: count(row, 0)?,
                attempt: u32::try_from(row.field::<i32>(1)?).unwrap_or_default(),
                behind: count(row, 2)?,
                payload: bytes(row, 3)?,
            })
        };
        rows.iter().map(head).collect()
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }
}

#[async_trait]
impl Directory for Postgres {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let rows = self.readers.ask(LOOK_UP, &[&key.as_bytes()]).await?;
        rows.first().map(|row| bytes(row, 0)).transpose()
    }

    async fn write_directory(&self, write: DirectoryWrite) -> Result<bool, Error> {
        match write {
            DirectoryWrite::Put { key, value } => {
                self.hosts.ask(Question::of(PUT).with(key.as_bytes()).with(&value[..])).await?;
                Ok(true)
            }
            DirectoryWrite::Claim { key, value } => {
                let rows = self.hosts.ask(Question::of(CLAIM).with(key.as_bytes()).with(&value[..])).await?;
                let found: Vec<u8> = rows.first().ok_or(Error::PostgresAnswer)?.field(0)?;
                Ok(found == value)
            }
            DirectoryWrite::Remove { key } => {
                self.hosts.ask(Question::of(REMOVE).with(key.as_bytes())).await?;
                Ok(true)
            }
        }
    }
}

#[cfg(test)]
mod tests;
