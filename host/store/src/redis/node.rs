//! One server: a connection that all calls share, made when it is needed and made again when it broke.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::redis::aio::{ConnectionLike, MultiplexedConnection};
use ::redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, Pipeline, PushInfo, PushKind, RedisError, RedisResult,
    ServerErrorKind, Value, cmd, from_redis_value,
};

/// A server that is there accepts at once; one that is not must not hold up its callers.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(800);
/// Calls that wait for a connection which was refused moments ago are refused as well, instead of trying one by one.
const REFUSED_FOR: Duration = Duration::from_millis(50);

/// A replica that keeps up confirms within a millisecond; beyond this the call is made again, within its caller's patience.
const WAIT_FOR_REPLICA_MS: u64 = 400;

/// What a host listens to: it survives connections, and moves with the server that is listened at.
pub(super) struct Ears {
    hear: Box<dyn Fn(PushInfo) + Send + Sync>,
    channels: Mutex<BTreeSet<String>>,
}

/// When a call counts as answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct How {
    /// Only when a replica has confirmed it.
    pub(super) is_replicated: bool,
    /// What it may take beyond the usual, because it does so much.
    pub(super) extra: Duration,
}

pub(super) struct Node {
    client: Client,
    ears: Arc<Ears>,
    /// Whether this is the server where messages are listened to.
    listens: AtomicBool,
    /// Whether the server says when something changes that was read here.
    remembers: AtomicBool,
    /// How long one call may take before its connection is given up.
    answer_timeout: Duration,
    state: Arc<Mutex<State>>,
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    generation: u64,
    connection: Option<MultiplexedConnection>,
    refused: Option<(Instant, RedisError)>,
}

// === impl Ears ===

impl Ears {
    pub(super) fn new(hear: impl Fn(PushInfo) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { hear: Box::new(hear), channels: Mutex::default() })
    }

    pub(super) fn add(&self, channel: &str) {
        self.lock().insert(channel.to_owned());
    }

    pub(super) fn remove(&self, channel: &str) {
        self.lock().remove(channel);
    }

    fn channels(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Node ===

impl Node {
    pub(super) fn new(client: Client, ears: Arc<Ears>, answer_timeout: Duration) -> Self {
        Self {
            client,
            ears,
            listens: AtomicBool::new(false),
            remembers: AtomicBool::new(false),
            answer_timeout,
            state: Arc::default(),
            connecting: tokio::sync::Mutex::default(),
        }
    }

    pub(super) async fn call(&self, command: &Cmd, how: How) -> RedisResult<Value> {
        if how.is_replicated { self.write(command, how.extra).await } else { self.ask_within(command, how.extra).await }
    }

    /// One call and its answer; an error of the server is an `Err`.
    pub(super) async fn ask(&self, command: &Cmd) -> RedisResult<Value> {
        self.ask_within(command, Duration::ZERO).await
    }

    async fn ask_within(&self, command: &Cmd, extra: Duration) -> RedisResult<Value> {
        let (generation, mut connection) = self.connection().await?;
        if !extra.is_zero() {
            connection.set_response_timeout(self.answer_timeout + extra);
        }
        let answered = connection.req_packed_command(command).await;
        self.keep_or_drop(generation, answered)?.extract_error()
    }

    /// A write, answered when a replica has it as well. `WAIT` is about what its own connection wrote, so both go together.
    async fn write(&self, command: &Cmd, extra: Duration) -> RedisResult<Value> {
        let mut both = Pipeline::with_capacity(2);
        both.add_command(command.clone()).cmd("WAIT").arg(1).arg(WAIT_FOR_REPLICA_MS);
        let (generation, mut connection) = self.connection().await?;
        connection.set_response_timeout(self.answer_timeout + extra);
        let answered = connection.req_packed_commands(&both, 0, 2).await;
        let mut values = self.keep_or_drop(generation, answered)?;
        let replicas: u64 = from_redis_value(values.pop().unwrap_or(Value::Nil).extract_error()?)?;
        let answer = values.pop().unwrap_or(Value::Nil).extract_error()?;
        if replicas == 0 { Err(not_replicated()) } else { Ok(answer) }
    }

    /// Both in one round trip; the second answer counts.
    pub(super) async fn ask_after(&self, first: &Cmd, second: &Cmd) -> RedisResult<Value> {
        let mut both = Pipeline::with_capacity(2);
        both.add_command(first.clone()).add_command(second.clone());
        let (generation, mut connection) = self.connection().await?;
        let answered = connection.req_packed_commands(&both, 0, 2).await;
        let mut values = self.keep_or_drop(generation, answered)?;
        let second = values.pop().unwrap_or(Value::Nil).extract_error()?;
        values.pop().unwrap_or(Value::Nil).extract_error()?;
        Ok(second)
    }

    /// A read whose keys the server remembers for this connection. `None` when it does not do that.
    pub(super) async fn ask_remembered(&self, command: &Cmd) -> Option<RedisResult<Value>> {
        if !self.remembers.load(Ordering::Acquire) {
            return None;
        }
        Some(self.ask_after(cmd("CLIENT").arg("CACHING").arg("YES"), command).await)
    }

    /// Listens here from now on, also after the connection was made again.
    pub(super) async fn listen(&self) -> RedisResult<()> {
        if !self.listens.swap(true, Ordering::AcqRel) {
            let (_, mut connection) = self.connection().await?;
            self.subscribe_all(&mut connection).await?;
        }
        Ok(())
    }

    pub(super) fn stop_listening(&self) {
        self.listens.store(false, Ordering::Release);
        self.lock().connection = None;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.lock().connection.is_some()
    }

    pub(super) async fn subscribe(&self, channel: &str) -> RedisResult<()> {
        let (_, mut connection) = self.connection().await?;
        connection.subscribe(channel).await
    }

    pub(super) async fn unsubscribe(&self, channel: &str) -> RedisResult<()> {
        let (_, mut connection) = self.connection().await?;
        connection.unsubscribe(channel).await
    }

    /// A connection that broke, or on which an answer is overdue, is not used again.
    fn keep_or_drop<Answer>(&self, generation: u64, answered: RedisResult<Answer>) -> RedisResult<Answer> {
        if answered.as_ref().is_err_and(RedisError::is_io_error) {
            forget(&self.state, generation);
        }
        answered
    }

    async fn connection(&self) -> RedisResult<(u64, MultiplexedConnection)> {
        if let Some(current) = self.current()? {
            return Ok(current);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(current) = self.current()? {
            return Ok(current);
        }
        match self.connect().await {
            Ok(connected) => Ok(connected),
            Err(error) => {
                self.lock().refused = Some((now(), error.clone()));
                Err(error)
            }
        }
    }

    fn current(&self) -> RedisResult<Option<(u64, MultiplexedConnection)>> {
        let mut state = self.lock();
        if let Some(connection) = &state.connection {
            return Ok(Some((state.generation, connection.clone())));
        }
        match state.refused.take_if(|(at, _)| at.elapsed() >= REFUSED_FOR) {
            Some(_) => Ok(None),
            None => state.refused.as_ref().map_or(Ok(None), |(_, error)| Err(error.clone())),
        }
    }

    async fn connect(&self) -> RedisResult<(u64, MultiplexedConnection)> {
        let generation = {
            let mut state = self.lock();
            state.generation += 1;
            state.generation
        };
        let (ears, state) = (self.ears.clone(), self.state.clone());
        let hear = move |message: PushInfo| -> Result<(), ::redis::aio::SendError> {
            if message.kind == PushKind::Disconnection {
                forget(&state, generation);
            }
            (ears.hear)(message);
            Ok(())
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(self.answer_timeout))
            .set_push_sender(hear);
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        if self.listens.load(Ordering::Acquire) {
            self.subscribe_all(&mut connection).await?;
        }
        // A server, or a user of it, that may not do this is asked each time.
        let tracking = connection.req_packed_command(cmd("CLIENT").arg("TRACKING").arg("ON").arg("OPTIN")).await;
        let remembers = tracking.and_then(Value::extract_error).is_ok();
        self.remembers.store(remembers, Ordering::Release);
        let mut state = self.lock();
        state.connection = Some(connection.clone());
        state.refused = None;
        Ok((generation, connection))
    }

    async fn subscribe_all(&self, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        let channels = self.ears.channels();
        if channels.is_empty() { Ok(()) } else { connection.subscribe(channels).await }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Like a fail-over that is under way: the same call is made again, and asks again.
fn not_replicated() -> RedisError {
    RedisError::from((ErrorKind::Server(ServerErrorKind::TryAgain), "no replica has confirmed the write"))
}

fn forget(state: &Mutex<State>, generation: u64) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if state.generation == generation {
        state.connection = None;
    }
}

/// Whether the server takes writes: a replica that is taken for its primary would refuse each of them.
pub(super) async fn is_primary(node: &Node) -> RedisResult<bool> {
    let role: Vec<Value> = from_redis_value(node.ask(&cmd("ROLE")).await?)?;
    let name = role.into_iter().next().and_then(|name| from_redis_value::<String>(name).ok());
    Ok(name.as_deref() == Some("master"))
}

#[expect(clippy::disallowed_methods, reason = "bounds how long a refusal is remembered")]
fn now() -> Instant {
    Instant::now()
}
