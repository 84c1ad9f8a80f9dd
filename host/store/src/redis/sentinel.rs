//! A service that Sentinels watch: which server is its primary, asked again whenever the last answer turned out wrong.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::redis::{Cmd, ConnectionInfo, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value, cmd, from_redis_value};

use super::address::{self, Address};
use super::node::{Ears, How, Node, is_primary};
use crate::Error;

const SENTINEL_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) struct Sentinel {
    address: Address,
    service: String,
    server: ConnectionInfo,
    ears: Arc<Ears>,
    answer_timeout: Duration,
    sentinels: Vec<Node>,
    primary: Mutex<Option<(String, Arc<Node>)>>,
    finding: tokio::sync::Mutex<()>,
}

// === impl Sentinel ===

impl Sentinel {
    pub(super) fn new(
        address: Address,
        (sentinels, service, server): (&[ConnectionInfo], &str, &ConnectionInfo),
        ears: Arc<Ears>,
        answer_timeout: Duration,
    ) -> Result<Arc<Self>, Error> {
        let deaf = Ears::new(|_| {});
        let watching = |info: &ConnectionInfo| {
            Ok::<_, Error>(Node::new(address.client(info.clone())?, deaf.clone(), SENTINEL_TIMEOUT))
        };
        Ok(Arc::new(Self {
            sentinels: sentinels.iter().map(watching).collect::<Result<_, _>>()?,
            service: service.to_owned(),
            server: server.clone(),
            address,
            ears,
            answer_timeout,
            primary: Mutex::default(),
            finding: tokio::sync::Mutex::default(),
        }))
    }

    pub(super) async fn ask(&self, command: &Cmd, how: How) -> RedisResult<Value> {
        let node = self.node().await?;
        let answered = node.call(command, how).await;
        if answered.as_ref().is_err_and(is_not_primary) {
            self.forget(&node);
        }
        answered
    }

    /// The primary, as the first Sentinel that answers knows it and as it says itself.
    pub(super) async fn node(&self) -> RedisResult<Arc<Node>> {
        if let Some(node) = self.current() {
            return Ok(node);
        }
        let _one_at_a_time = self.finding.lock().await;
        if let Some(node) = self.current() {
            return Ok(node);
        }
        let mut failure = unknown();
        for sentinel in &self.sentinels {
            match self.ask_sentinel(sentinel).await {
                Ok((place, node)) => {
                    tracing::info!(redis.primary = place, "the Sentinels named the primary");
                    *self.primary.lock().unwrap_or_else(PoisonError::into_inner) = Some((place, node.clone()));
                    return Ok(node);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    pub(super) fn place(&self) -> Option<String> {
        self.primary.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(place, _)| place.clone())
    }

    fn current(&self) -> Option<Arc<Node>> {
        self.primary.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, node)| node.clone())
    }

    fn forget(&self, node: &Arc<Node>) {
        let mut primary = self.primary.lock().unwrap_or_else(PoisonError::into_inner);
        primary.take_if(|(_, current)| Arc::ptr_eq(current, node));
    }

    async fn ask_sentinel(&self, sentinel: &Node) -> RedisResult<(String, Arc<Node>)> {
        let question = cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(&self.service).to_owned();
        let asked = tokio::time::timeout(SENTINEL_TIMEOUT, sentinel.ask(&question)).await;
        let place: Option<(String, u16)> = from_redis_value(asked.map_err(|_| unknown())??)?;
        let (host, port) = place.ok_or_else(unknown)?;
        let client = self.address.client(address::at(&self.server, &host, port)).map_err(|_| unknown())?;
        let node = Arc::new(Node::new(client, self.ears.clone(), self.answer_timeout));
        if !is_primary(&node).await? {
            return Err(unknown());
        }
        node.listen().await?;
        Ok((format!("{host}:{port}"), node))
    }
}

/// The server is gone, or has become a replica.
fn is_not_primary(error: &RedisError) -> bool {
    error.is_io_error()
        || matches!(
            error.kind(),
            ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::BusyLoading)
        )
}

fn unknown() -> RedisError {
    RedisError::from((ErrorKind::Io, "no Sentinel knows a primary of this service that takes writes"))
}
