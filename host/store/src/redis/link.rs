//! Calls to the store: sent where they belong, tried again within the time a caller waits, refused at once while the
//! server is away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::{
    Cmd, ErrorKind, FromRedisValue, PushInfo, RedisError, RedisResult, RetryMethod, ServerErrorKind, Value,
    from_redis_value,
};

use metrics::Family;

use super::address::{Address, Kind};
use super::cluster::{self, Cluster};
use super::encode::Arguments;
use super::node::{Ears, How, Node};
use super::scripts::{Library, Source};
use super::sentinel::Sentinel;
use crate::breaker::{Breaker, Pass, jittered};
use crate::numbers::RoundTrips;
use crate::{Durability, Error, Options};

/// Between attempts; each wait is twice the one before, as long as the caller waits.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const START_PATIENCE: Duration = Duration::from_secs(3);
/// A part of the slots has a breaker of its own: shards have ranges of them, and fail one by one.
const BREAKERS: u16 = 64;

#[derive(Clone)]
pub(super) struct Link {
    wire: Wire,
    breakers: Arc<[Breaker]>,
    patience: Duration,
    waits_for_replica: bool,
    round_trips: Arc<RoundTrips>,
}

#[derive(Clone)]
enum Wire {
    Single(Arc<Node>, Arc<Ears>),
    Sentinel(Arc<Sentinel>, Arc<Ears>),
    Cluster(Arc<Cluster>),
}

impl Link {
    /// Connects; each message of a channel that is subscribed to is given to `hear`.
    pub(super) async fn open(
        address: Address,
        options: &Options,
        hear: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let ears = Ears::new(hear);
        // A connection that fell silent is given up in time for a second attempt on a new one.
        let answer_timeout = options.patience * 5 / 9;
        let wire = match &address.kind {
            Kind::Single(info) => {
                let node = Node::new(address.client((**info).clone())?, ears.clone(), answer_timeout);
                node.listen().await?;
                Wire::Single(Arc::new(node), ears)
            }
            Kind::Sentinel { sentinels, service, server } => {
                let names = (sentinels.as_slice(), service.as_str(), &**server);
                let sentinel = Sentinel::new(address.clone(), names, ears.clone(), answer_timeout)?;
                sentinel.node().await?;
                Wire::Sentinel(sentinel, ears)
            }
            Kind::Cluster(seeds) => Wire::Cluster(Cluster::open(address.clone(), seeds, ears, answer_timeout).await?),
        };
        let breakers = (0..if address.is_cluster() { BREAKERS } else { 1 }).map(|_| Breaker::default()).collect();
        let waits_for_replica = options.durability == Durability::Replica;
        let round_trips = Arc::new(RoundTrips::to_redis());
        Ok(Self { wire, breakers, patience: options.patience, waits_for_replica, round_trips })
    }

    /// The first connection of a host may find a server that is busy, or still starting.
    #[expect(clippy::disallowed_methods, reason = "back-off between attempts")]
    pub(super) async fn open_patiently(
        address: Address,
        options: &Options,
        hear: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let (begun, hear) = (Instant::now(), Arc::new(hear));
        loop {
            let ear = hear.clone();
            match Self::open(address.clone(), options, move |message| ear(message)).await {
                Err(Error::Redis(error)) if error.is_io_error() && begun.elapsed() < START_PATIENCE => {
                    tokio::time::sleep(FIRST_WAIT).await;
                }
                opened => return opened,
            }
        }
    }

    pub(super) fn families(&self) -> Vec<Family> {
        self.round_trips.families()
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.wire, Wire::Cluster(_))
    }

    /// Returns when the server has confirmed it. A subscription survives reconnections; what is published in between does
    /// not.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<(), Error> {
        match &self.wire {
            Wire::Single(node, ears) => {
                ears.add(channel);
                node.subscribe(channel).await?;
            }
            Wire::Sentinel(sentinel, ears) => {
                ears.add(channel);
                sentinel.node().await?.subscribe(channel).await?;
            }
            Wire::Cluster(cluster) => cluster.subscribe(channel).await?,
        }
        Ok(())
    }

    pub(super) async fn unsubscribe(&self, channel: &str) -> Result<(), Error> {
        match &self.wire {
            Wire::Single(node, ears) => {
                ears.remove(channel);
                node.unsubscribe(channel).await?;
            }
            Wire::Sentinel(sentinel, ears) => {
                ears.remove(channel);
                sentinel.node().await?.unsubscribe(channel).await?;
            }
            Wire::Cluster(cluster) => cluster.unsubscribe(channel).await?,
        }
        Ok(())
    }

    /// Every server that holds data, with its place: for questions about the servers themselves.
    pub(super) async fn servers(&self) -> Result<Vec<(String, Arc<Node>)>, Error> {
        Ok(match &self.wire {
            Wire::Single(node, _) => vec![("redis".to_owned(), node.clone())],
            Wire::Sentinel(sentinel, _) => {
                let node = sentinel.node().await?;
                vec![(sentinel.place().unwrap_or_default(), node)]
            }
            Wire::Cluster(cluster) => cluster.owners(),
        })
    }

    /// Runs a script on the slot of `keys`. Every script may be run again: a group of commits is
    /// recognised by its number, and a lease whose answer was lost expires.
    pub(super) async fn run<Answer: FromRedisValue>(
        &self,
        script: &Source,
        keys: &[&str],
        arguments: &Arguments,
    ) -> Result<Answer, Error> {
        let command = |name: &str, source: &str| {
            ::redis::cmd(name).arg(source).arg(keys.len()).arg(keys).arg(arguments).to_owned()
        };
        let by_hash = command("EVALSHA", &script.hash);
        match self.ask(&by_hash).await {
            Err(Error::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.ask(&command("EVAL", script.text)).await
            }
            answered => answered,
        }
    }

    /// Calls the function of a library on the slot of `keys`; like a script, it may be called again.
    pub(super) async fn call<Answer: FromRedisValue>(
        &self,
        library: &Library,
        keys: &[&str],
        arguments: &Arguments,
    ) -> Result<Answer, Error> {
        let how = How { is_replicated: self.waits_for_replica, extra: extra_time(arguments) };
        let call = ::redis::cmd("FCALL").arg(&library.name).arg(keys.len()).arg(keys).arg(arguments).to_owned();
        match self.write(&call, how).await {
            // There is no code of its own for a function that is not there; for anything else this changes nothing.
            Err(Error::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::ResponseError) => {
                let load = ::redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(&library.text).to_owned();
                self.ask_at(self.slot(&call), &load, How::default()).await?;
                self.write(&call, how).await
            }
            answered => answered,
        }
    }

    /// A call that is answered when what it wrote is as durable as the operator asked for.
    async fn write<Answer: FromRedisValue>(&self, command: &Cmd, how: How) -> Result<Answer, Error> {
        Ok(from_redis_value(self.ask_at(self.slot(command), command, how).await?)?)
    }

    /// Sends a command that may safely be sent twice.
    pub(super) async fn ask<Answer: FromRedisValue>(&self, command: &Cmd) -> Result<Answer, Error> {
        Ok(from_redis_value(self.ask_at(self.slot(command), command, How::default()).await?)?)
    }

    /// A read that the server remembers, to say on the same connection when what was read has changed. `None` where that cannot be had,
    /// or the server does not answer: the caller asks as usual.
    #[expect(clippy::disallowed_methods, reason = "measures round trips for the metrics")]
    pub(super) async fn ask_remembered(&self, command: &Cmd) -> Option<Value> {
        let node = match &self.wire {
            Wire::Single(node, _) => node.clone(),
            Wire::Sentinel(sentinel, _) => sentinel.node().await.ok()?,
            Wire::Cluster(_) => return None,
        };
        let begun = Instant::now();
        let answered = node.ask_remembered(command).await?;
        self.round_trips.made(begun.elapsed(), answered.is_err());
        answered.ok()
    }

    /// Only a cluster has slots.
    fn slot(&self, command: &Cmd) -> Option<u16> {
        if self.is_cluster() { cluster::slot_of(command) } else { None }
    }

    fn breaker(&self, slot: Option<u16>) -> Option<&Breaker> {
        let at = slot.map_or(0, |slot| slot / (cluster::SLOTS / BREAKERS));
        self.breakers.get(usize::from(at))
    }

    #[expect(clippy::disallowed_methods, reason = "back-off between attempts")]
    async fn ask_at(&self, slot: Option<u16>, command: &Cmd, how: How) -> Result<Value, Error> {
        let breaker = self.breaker(slot).ok_or(Error::Closed)?;
        let pass = breaker.enter(Instant::now);
        if pass == Pass::No {
            return Err(Error::NotAnswering);
        }
        let (begun, mut wait, patience) = (Instant::now(), FIRST_WAIT, self.patience + how.extra);
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            let answered = tokio::time::timeout(left, self.round_trip(slot, command, how)).await;
            let error = match answered.unwrap_or_else(|_| Err(overdue())) {
                Err(error) if is_passing(&error) => error,
                answered => {
                    if breaker.answered() {
                        tracing::info!("Redis answers again");
                    }
                    return Ok(answered?);
                }
            };
            let random = getrandom::u64().unwrap_or_default();
            let pause = jittered(wait, random);
            if pass == Pass::Probe || begun.elapsed() + pause >= patience {
                tracing::warn!(%error, "Redis does not answer");
                breaker.gave_up(Instant::now(), random);
                return Err(error.into());
            }
            tracing::debug!(%error, wait_ms = pause.as_millis(), "Redis did not answer, trying again");
            tokio::time::sleep(pause).await;
            wait *= 2;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "measures round trips for the metrics")]
    async fn round_trip(&self, slot: Option<u16>, command: &Cmd, how: How) -> RedisResult<Value> {
        let begun = Instant::now();
        let answered = match &self.wire {
            Wire::Single(node, _) => node.call(command, how).await,
            Wire::Sentinel(sentinel, _) => sentinel.ask(command, how).await,
            Wire::Cluster(cluster) => cluster.ask(slot, command, how).await,
        };
        self.round_trips.made(begun.elapsed(), answered.is_err());
        answered
    }
}

/// A group of commits is bounded, and done within milliseconds; a single batch that is larger than a group may take
/// seconds, and is not a server that hangs.
fn extra_time(arguments: &Arguments) -> Duration {
    const USUAL_ARGUMENTS: usize = 10_000;
    const USUAL_BYTES: usize = 2 << 20;
    let arguments_ms = arguments.len().saturating_sub(USUAL_ARGUMENTS) / 10;
    let bytes_ms = arguments.size_bytes().saturating_sub(USUAL_BYTES) >> 10;
    Duration::from_millis((arguments_ms + bytes_ms) as u64)
}

/// Gone when the connection, or the fail-over, is through.
fn is_passing(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoScript) => false,
        ErrorKind::Io => true,
        ErrorKind::Server(
            ServerErrorKind::ReadOnly
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::BusyLoading,
        ) => true,
        _ => !matches!(error.retry_method(), RetryMethod::NoRetry),
    }
}

fn overdue() -> RedisError {
    RedisError::from((ErrorKind::Io, "no answer in time"))
}
