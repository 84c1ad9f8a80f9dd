//! Connections: made when they are needed, given up when they break or hang.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join_all, poll_fn};
use tokio::sync::{Mutex, MutexGuard, mpsc};
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Row, Statement};

use super::tls::Connector;
use crate::Error;
use crate::breaker::{Breaker, Pass};
use crate::numbers::RoundTrips;

/// Reads that wait for nothing but each other share connections.
const READERS: usize = 4;

/// Between tries.
const PAUSE: Duration = Duration::from_millis(50);

/// For every connection. What is asked always has an index, and plans made for small tables are bad for large ones: so plans are made
/// once, with what is indexed. A transaction of a host that hangs ends before others are told that the store does not answer.
const SETTINGS: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
    SET plan_cache_mode = force_generic_plan; SET jit = off; SET bytea_output = hex; SET idle_in_transaction_session_timeout = 1500; \
    SET client_min_messages = warning; ";

/// Where the server is, and how it is spoken to.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) config: Config,
    pub(super) connector: Connector,
    pub(super) schema: String,
    pub(super) patience: Duration,
    pub(super) breaker: Arc<Breaker>,
    pub(super) round_trips: Arc<RoundTrips>,
}

/// A connection, and the task that moves its bytes, which ends with it.
pub(super) struct Connection {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    _driver: JoinSet<()>,
}

/// One connection at a time.
pub(super) struct Line {
    place: Arc<Place>,
    current: Mutex<Option<Arc<Connection>>>,
    /// Statements of one transaction are sent without those of another in between.
    turn: Mutex<()>,
}

pub(super) struct Readers {
    lines: Vec<Line>,
    next: AtomicUsize,
}

pub(super) type Parameter<'value> = Box<dyn ToSql + Sync + Send + 'value>;

/// A statement and what it is given.
pub(super) struct Question<'value> {
    pub(super) statement: &'static str,
    pub(super) parameters: Vec<Parameter<'value>>,
}

// === impl Place ===

impl Place {
    pub(super) async fn connect(&self) -> Result<Connection, Error> {
        self.connect_and(None).await
    }

    /// For as long as a caller waits.
    #[expect(clippy::disallowed_methods, reason = "when to look again, by no clock of a tenant")]
    pub(super) fn does_not_answer(&self) {
        self.breaker.gave_up(Instant::now(), getrandom::u64().unwrap_or_default());
    }

    /// `told` is given the messages of the server.
    pub(super) async fn connect_and(&self, told: Option<mpsc::Sender<String>>) -> Result<Connection, Error> {
        let connecting = async {
            let (client, mut connection) = self.config.connect(self.connector.clone()).await?;
            let mut driver = JoinSet::new();
            driver.spawn(async move {
                while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                    // The listener is gone, or so far behind that it begins anew.
                    if let (AsyncMessage::Notification(message), Some(told)) = (message, &told)
                        && told.try_send(message.payload().to_owned()).is_err()
                    {
                        return;
                    }
                }
            });
            let patience = self.patience.as_millis();
            let schema = &self.schema;
            client
                .batch_execute(&format!(
                    "{SETTINGS} SET statement_timeout = {patience}; SET lock_timeout = {patience}; SET search_path = \"{schema}\""
                ))
                .await?;
            Ok::<_, Error>(Connection { client, statements: Mutex::default(), _driver: driver })
        };
        tokio::time::timeout(self.patience, connecting).await.map_err(|_| Error::PostgresSilent)?
    }
}

// === impl Connection ===

impl Connection {
    pub(super) async fn ask(&self, question: &Question<'_>) -> Result<Vec<Row>, Error> {
        let statement = self.prepared(question.statement).await?;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            question.parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect();
        Ok(self.client.query(&statement, &parameters).await?)
    }

    /// All of them are sent before the first is answered, and done in their order.
    pub(super) async fn ask_all(&self, questions: Vec<Question<'_>>) -> Result<Vec<Vec<Row>>, Error> {
        let mut statements = Vec::with_capacity(questions.len());
        for question in &questions {
            statements.push(self.prepared(question.statement).await?);
        }
        let asked = statements.iter().zip(&questions).map(|(statement, question)| {
            let parameters: Vec<&(dyn ToSql + Sync)> =
                question.parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect();
            async move { self.client.query(statement, &parameters).await }
        });
        // The first error is the cause of those after it.
        Ok(join_all(asked).await.into_iter().collect::<Result<_, _>>()?)
    }

    pub(super) async fn run(&self, text: &str) -> Result<(), Error> {
        Ok(self.client.batch_execute(text).await?)
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    async fn prepared(&self, text: &'static str) -> Result<Statement, Error> {
        let mut statements = self.statements.lock().await;
        if let Some(statement) = statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        statements.insert(text, statement.clone());
        Ok(statement)
    }
}

// === impl Line ===

impl Line {
    pub(super) fn new(place: Arc<Place>) -> Self {
        Self { place, current: Mutex::default(), turn: Mutex::default() }
    }

    pub(super) async fn connection(&self) -> Result<Arc<Connection>, Error> {
        let mut current = self.current.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| !connection.client.is_closed()) {
            return Ok(connection.clone());
        }
        let connection = Arc::new(self.place.connect().await?);
        *current = Some(connection.clone());
        Ok(connection)
    }

    /// What does not answer in time is given up, with its connection; then calls fail at once, until one finds that it is back.
    #[expect(
        clippy::disallowed_methods,
        reason = "how long the server has not answered, which no clock of a test moves"
    )]
    pub(super) async fn within<Answer>(
        &self,
        asking: impl Future<Output = Result<Answer, Error>>,
    ) -> Result<Answer, Error> {
        let breaker = &self.place.breaker;
        if breaker.enter(Instant::now) == Pass::No {
            return Err(Error::PostgresSilent);
        }
        let begun = Instant::now();
        let answered = tokio::time::timeout(self.place.patience, asking).await;
        self.place.round_trips.made(begun.elapsed(), !matches!(answered, Ok(Ok(_))));
        match answered {
            Ok(answer) => {
                if answer.as_ref().err().is_none_or(|error| !error.is_broken_connection()) {
                    breaker.answered();
                }
                answer
            }
            Err(_) => {
                self.give_up().await;
                self.place.does_not_answer();
                Err(Error::PostgresSilent)
            }
        }
    }

    /// The next call has a new connection, and what was begun on this one is undone.
    pub(super) async fn give_up(&self) {
        *self.current.lock().await = None;
    }

    /// For what may be done twice: a connection that broke is tried once more.
    pub(super) async fn ask(&self, question: Question<'_>) -> Result<Vec<Row>, Error> {
        self.within(async {
            match self.connection().await?.ask(&question).await {
                Err(error) if error.is_broken_connection() => self.connection().await?.ask(&question).await,
                answer => answer,
            }
        })
        .await
    }

    /// For a transaction of several round trips.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Several statements of which all or none count.
    pub(super) async fn transact(&self, questions: Vec<Question<'_>>) -> Result<Vec<Vec<Row>>, Error> {
        let _turn = self.turn().await;
        let mut all = vec![Question::of("BEGIN")];
        all.extend(questions);
        all.push(Question::of("COMMIT"));
        let asked = self.within(async { self.connection().await?.ask_all(all).await }).await;
        if asked.is_err() {
            self.give_up().await;
        }
        let mut answers = asked?;
        answers.pop();
        if !answers.is_empty() {
            answers.remove(0);
        }
        Ok(answers)
    }
}

// === impl Readers ===

impl Readers {
    pub(super) fn new(place: &Arc<Place>) -> Self {
        let lines = (0..READERS).map(|_| Line::new(place.clone())).collect();
        Self { lines, next: AtomicUsize::new(0) }
    }

    /// A connection that broke is tried once more: nothing is changed by asking twice.
    pub(super) async fn ask(
        &self,
        statement: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let place = self.next.fetch_add(1, Ordering::Relaxed) % self.lines.len().max(1);
        let line = self.lines.get(place).ok_or(Error::Closed)?;
        line.within(async {
            let mut is_last = false;
            loop {
                let asked = async {
                    let connection = line.connection().await?;
                    let statement = connection.prepared(statement).await?;
                    Ok::<_, Error>(connection.client.query(&statement, parameters).await?)
                };
                match asked.await {
                    Err(error) if !is_last && error.is_broken_connection() => is_last = true,
                    answer => return answer,
                }
            }
        })
        .await
    }
}

/// Before another try, while the server does not answer.
#[expect(clippy::disallowed_methods, reason = "waits for a server, which no clock of a test moves")]
pub(super) async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

// === impl Question ===

impl<'value> Question<'value> {
    pub(super) fn of(statement: &'static str) -> Self {
        Self { statement, parameters: Vec::new() }
    }

    pub(super) fn with(mut self, parameter: impl ToSql + Sync + Send + 'value) -> Self {
        self.parameters.push(Box::new(parameter));
        self
    }
}
