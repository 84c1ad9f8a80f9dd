//! The connection: one server or a cluster, behind one face, with bounded retries.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use ::redis::cluster::ClusterClientBuilder;
use ::redis::cluster_async::ClusterConnection;
use ::redis::{
    Client, Cmd, ErrorKind, FromRedisValue, Pipeline, ProtocolVersion, PushInfo, RedisError, RedisFuture, RetryMethod,
    ServerErrorKind, Value,
};

use metrics::Family;

use super::address::{self, Address};
use super::encode::Arguments;
use super::scripts::{Library, Source};
use crate::Error;
use crate::numbers::RoundTrips;

/// A fail-over takes seconds: 6 attempts wait 0.1 + 0.2 + 0.4 + 0.8 + 1.6 s in between.
const ATTEMPTS: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Link {
    wire: Wire,
    round_trips: Arc<RoundTrips>,
}

#[derive(Clone)]
enum Wire {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl Link {
    /// Connects; each message of a channel that is subscribed to is given to `hear`.
    pub(super) async fn open(address: Address, hear: impl Fn(PushInfo) + Send + Sync + 'static) -> Result<Self, Error> {
        let hear = move |message| -> Result<(), ::redis::aio::SendError> {
            hear(message);
            Ok(())
        };
        let wire = match address {
            Address::Single(info) => {
                let config = ConnectionManagerConfig::new()
                    .set_connection_timeout(Some(CONNECT_TIMEOUT))
                    .set_response_timeout(Some(ANSWER_TIMEOUT))
                    .set_number_of_retries(3)
                    .set_push_sender(hear)
                    .set_automatic_resubscription();
                Wire::Single(ConnectionManager::new_with_config(Client::open(*info)?, config).await?)
            }
            Address::Cluster(nodes) => {
                let client = ClusterClientBuilder::new(nodes)
                    .connection_timeout(CONNECT_TIMEOUT)
                    .response_timeout(ANSWER_TIMEOUT)
                    .retries(3)
                    .tcp_settings(address::tcp())
                    .use_protocol(ProtocolVersion::RESP3)
                    .push_sender(hear)
                    .build()?;
                Wire::Cluster(client.get_async_connection().await?)
            }
        };
        Ok(Self { wire, round_trips: Arc::default() })
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
        match self.wire.clone() {
            Wire::Single(mut link) => link.subscribe(channel).await?,
            Wire::Cluster(mut link) => link.subscribe(channel).await?,
        }
        Ok(())
    }

    pub(super) async fn unsubscribe(&self, channel: &str) -> Result<(), Error> {
        match self.wire.clone() {
            Wire::Single(mut link) => link.unsubscribe(channel).await?,
            Wire::Cluster(mut link) => link.unsubscribe(channel).await?,
        }
        Ok(())
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
        let call = ::redis::cmd("FCALL").arg(&library.name).arg(keys.len()).arg(keys).arg(arguments).to_owned();
        match self.ask(&call).await {
            // There is no code of its own for a function that is not there; for anything else this changes nothing.
            Err(Error::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::ResponseError) => {
                let load = ::redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(&library.text).to_owned();
                let _: Value = self.ask(&load).await?;
                self.ask(&call).await
            }
            answered => answered,
        }
    }

    /// Sends a command that may safely be sent twice.
    #[expect(clippy::disallowed_methods, reason = "back-off between attempts")]
    pub(super) async fn ask<Answer: FromRedisValue>(&self, command: &Cmd) -> Result<Answer, Error> {
        let mut wait = FIRST_WAIT;
        for _ in 1..ATTEMPTS {
            match self.round_trip(command).await {
                Err(error) if is_passing(&error) => {
                    tracing::warn!(%error, wait_ms = wait.as_millis(), "Redis did not answer, trying again");
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                answered => return Ok(answered?),
            }
        }
        Ok(self.round_trip(command).await?)
    }

    #[expect(clippy::disallowed_methods, reason = "measures round trips for the metrics")]
    async fn round_trip<Answer: FromRedisValue>(&self, command: &Cmd) -> Result<Answer, RedisError> {
        let begun = Instant::now();
        let answered = command.query_async(&mut self.wire.clone()).await;
        self.round_trips.made(begun.elapsed(), answered.is_err());
        answered
    }
}

/// Gone when the connection, or the fail-over, is through.
fn is_passing(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoScript) => false,
        ErrorKind::Io | ErrorKind::Server(ServerErrorKind::ReadOnly) => true,
        _ => !matches!(error.retry_method(), RetryMethod::NoRetry),
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Single(link) => link.req_packed_command(command),
            Self::Cluster(link) => link.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Single(link) => link.req_packed_commands(pipeline, offset, count),
            Self::Cluster(link) => link.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Single(link) => link.get_db(),
            Self::Cluster(link) => link.get_db(),
        }
    }
}
