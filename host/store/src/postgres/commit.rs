//! Group commit: batches that arrive while a transaction is under way share the next one.
//!
//! A group is one transaction of two round trips. The first takes the locks of its tenants and loads what the batches look at; then they are
//! judged and applied here, in memory, one after the other; the second writes what changed, in a few statements over the whole group, and
//! commits. A batch that is refused leaves nothing and does not affect the others.
//!
//! A connection that breaks before the second round trip has changed nothing, and the group is tried again. After it, the server is asked
//! by the number of the transaction what became of it: then the answers count, or all is tried again. So a batch is applied once.
//!
//! What an operation removes is sometimes only known when it is done: a batch with such an operation is a group of its own.

mod alone;
mod judge;
mod layered;
mod load;
mod statements;
mod tenant;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::judge::Left;
use self::load::Loaded;
use self::statements as sql;
use self::write::Changed;
use super::hearing::{Message, Names};
use super::link::{Connection, Line, Place, Question, pause};
use super::rows::Fields;
use crate::numbers::Numbers;
use crate::{Batch, CommitError, Committed, Error, Op, Origin, Partition, Precondition, Pulse, Tenant};

const GROUP_BATCHES: usize = 128;
const GROUP_OPERATIONS: usize = 4096;
const GROUP_BYTES: u64 = 4 << 20;
/// What one tenant has of a group that others wait for.
const OPERATIONS_OF_A_TENANT: usize = GROUP_OPERATIONS / 2;
/// While one group is written, another is loaded. Each has the tenants of its own partitions, so that none waits for the other's locks.
const LINES: usize = 2;
/// Batches that wait; beyond it, callers wait before they are queued.
const WAITING_BATCHES: usize = 1024;
/// A host works on what it commits itself, so others are told only of what is due later than this, and of everything when it has no room.
const LATER_MS: u64 = 1000;

pub(super) struct Groups {
    lines: Vec<mpsc::Sender<Call>>,
    partitions: u16,
    _workers: JoinSet<()>,
}

struct Call {
    batch: Batch,
    reply: oneshot::Sender<Result<Committed, CommitError>>,
}

/// What the workers share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) place: Arc<Place>,
    pub(super) client: String,
    pub(super) partitions: u16,
    pub(super) pulse: Pulse,
    pub(super) numbers: Arc<Numbers>,
}

struct Worker {
    shared: Shared,
    line: Line,
    calls: mpsc::Receiver<Call>,
    /// Taken from the queue, and not fitting into the group before it.
    next: Option<Call>,
}

type Answers = Vec<Result<(Committed, Left), CommitError>>;

enum Attempt {
    Answered(Answers),
    /// The connection broke while it was committed.
    Unknown(Answers, String),
}

// === impl Groups ===

impl Groups {
    pub(super) fn new(shared: &Shared) -> Self {
        let mut workers = JoinSet::new();
        let lines = (0..LINES).map(|_| {
            let (sender, calls) = mpsc::channel(WAITING_BATCHES);
            let line = Line::new(shared.place.clone());
            workers.spawn(Worker { shared: shared.clone(), line, calls, next: None }.run());
            sender
        });
        let lines = lines.collect();
        Self { lines, partitions: shared.partitions, _workers: workers }
    }

    pub(super) async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let line = usize::from(batch.tenant.partition(self.partitions).index()) % LINES;
        let line = self.lines.get(line).ok_or(Error::Closed)?;
        let (reply, answer) = oneshot::channel();
        line.send(Call { batch, reply }).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

// === impl Worker ===

impl Worker {
    async fn run(mut self) {
        while let Some(group) = self.next_group().await {
            self.shared.numbers.grouped(group.len());
            let batches: Vec<&Batch> = group.iter().map(|call| &call.batch).collect();
            let answers = self.commit(&batches).await;
            self.answer(group, answers);
        }
    }

    async fn next_group(&mut self) -> Option<Vec<Call>> {
        let first = match self.next.take() {
            Some(call) => call,
            None => self.calls.recv().await?,
        };
        // Callers that were just answered tend to commit again in the same round.
        tokio::task::yield_now().await;
        let mut room = Room::default();
        room.take(&first.batch);
        let mut group = vec![first];
        while let Ok(call) = self.calls.try_recv() {
            if !room.take(&call.batch) {
                self.next = Some(call);
                break;
            }
            group.push(call);
        }
        Some(group)
    }

    fn answer(&self, group: Vec<Call>, answers: Result<Answers, Error>) {
        let mut answers = answers.map(Vec::into_iter);
        for Call { batch, reply } in group {
            let answer = match &mut answers {
                Ok(answers) => answers.next().unwrap_or(Err(Error::Closed.into())),
                Err(error) => Err(error.same_again().into()),
            };
            let answer = answer.map(|(committed, left)| {
                if let Some(due_ms) = left.due_ms {
                    self.shared.pulse.work_in(self.partition(&batch.tenant), due_ms, Origin::Here);
                }
                committed
            });
            // A caller that went away is not a problem of its group.
            let _ = reply.send(answer);
        }
    }

    fn partition(&self, tenant: &Tenant) -> Partition {
        tenant.partition(self.shared.partitions)
    }

    /// Tries until it is known, as long as callers wait.
    #[expect(
        clippy::disallowed_methods,
        reason = "how long callers have waited for the server, which no clock of a test moves"
    )]
    async fn commit(&self, batches: &[&Batch]) -> Result<Answers, Error> {
        let until = Instant::now() + self.shared.place.patience;
        let mut unknown: Option<(Answers, String)> = None;
        loop {
            let attempt = match &unknown {
                Some((_, transaction)) => match self.line.within(self.was_committed(transaction)).await {
                    Ok(true) => return unknown.map(|(answers, _)| answers).ok_or(Error::Closed),
                    Ok(false) => {
                        unknown = None;
                        continue;
                    }
                    Err(error) => Err(error),
                },
                None => self.line.within(self.attempt(batches)).await,
            };
            match attempt {
                Ok(Attempt::Answered(answers)) => return Ok(answers),
                Ok(Attempt::Unknown(answers, transaction)) => unknown = Some((answers, transaction)),
                Err(error) => {
                    self.line.give_up().await;
                    if !error.is_passing() {
                        return Err(error);
                    }
                    if Instant::now() >= until {
                        self.shared.place.does_not_answer();
                        return Err(error);
                    }
                    pause().await;
                }
            }
        }
    }

    async fn attempt(&self, batches: &[&Batch]) -> Result<Attempt, Error> {
        let connection = self.line.connection().await?;
        let mut loaded = Loaded::new(batches, self.shared.partitions);
        if !loaded.load(&connection).await? {
            let (tenants, parts) = loaded.tenants();
            let make = Question::of(sql::MAKE_TENANTS).with(tenants).with(parts);
            connection.ask_all(vec![Question::of(sql::ROLLBACK), make]).await?;
            loaded = Loaded::new(batches, self.shared.partitions);
            if !loaded.load(&connection).await? {
                return Err(Error::PostgresAnswer);
            }
        }
        let mut answers = Answers::new();
        for batch in batches {
            answers.push(loaded.commit(batch, &connection).await?);
        }
        let is_refused = answers.iter().all(Result::is_err);
        if is_refused {
            connection.ask(&Question::of(sql::ROLLBACK)).await?;
            return Ok(Attempt::Answered(answers));
        }
        match self.write(&mut loaded, batches, &answers, &connection).await {
            Ok(()) => Ok(Attempt::Answered(answers)),
            // Refused by the server, so that it is undone; or the connection broke, and it may be done.
            Err(error) if error.is_broken_connection() => Ok(Attempt::Unknown(answers, loaded.transaction)),
            Err(error) => Err(error),
        }
    }

    async fn write(
        &self,
        loaded: &mut Loaded,
        batches: &[&Batch],
        answers: &Answers,
        connection: &Connection,
    ) -> Result<(), Error> {
        write::number_streams(&mut loaded.owned)?;
        let changed = Changed::take(&mut loaded.owned);
        let mut questions = write::questions(&loaded.owned, &changed);
        questions.extend(write::streams(&loaded.owned));
        questions.extend(write::news(&loaded.owned));
        let messages = self.messages(loaded, &changed, (batches, answers));
        if !messages.is_empty() {
            questions.push(Question::of(sql::NOTIFY).with(&self.shared.place.schema).with(messages));
        }
        questions.push(Question::of(sql::COMMIT));
        connection.ask_all(questions).await.map(drop)
    }

    /// What other hosts are told.
    fn messages(&self, loaded: &Loaded, changed: &Changed, (batches, answers): (&[&Batch], &Answers)) -> Vec<String> {
        let is_busy = self.shared.pulse.is_busy();
        let mut work: BTreeMap<u16, u64> = BTreeMap::new();
        for (batch, answer) in batches.iter().zip(answers) {
            let due_ms = answer.as_ref().ok().and_then(|(_, left)| left.due_ms);
            if let Some(due_ms) = due_ms.filter(|due_ms| is_busy || *due_ms > batch.now_ms + LATER_MS) {
                let earliest = work.entry(self.partition(&batch.tenant).index()).or_insert(due_ms);
                *earliest = due_ms.min(*earliest);
            }
        }
        let mut messages = Message::work(&self.shared.client, is_busy, &work);
        let records =
            changed.records(&loaded.owned).map(|(owned, key)| Names::of_record(&owned.tenant, &key.0, &key.1));
        messages.extend(Message::changed(&self.shared.client, records));
        for owned in &loaded.owned {
            let mut ranges: HashMap<&str, (i64, i64)> = HashMap::new();
            for news in &owned.news {
                let id = news.id.packed();
                ranges.entry(&news.emitter).or_insert((id, id)).1 = id;
            }
            messages.extend(ranges.into_iter().map(|(emitter, range)| Message::news(&owned.tenant, emitter, range)));
        }
        messages
    }

    /// Waits for a transaction that its server has not given up yet.
    async fn was_committed(&self, transaction: &str) -> Result<bool, Error> {
        loop {
            let rows = self.line.connection().await?.ask(&Question::of(sql::FATE).with(transaction)).await?;
            let fate: Option<String> = rows.first().ok_or(Error::PostgresAnswer)?.field(0)?;
            match fate.as_deref() {
                Some("committed") => return Ok(true),
                Some("in progress") => pause().await,
                _ => return Ok(false),
            }
        }
    }
}

impl Loaded {
    /// One batch on what the ones before it left.
    async fn commit(
        &mut self,
        batch: &Batch,
        connection: &Connection,
    ) -> Result<Result<(Committed, Left), CommitError>, Error> {
        let Some(owned) = self.of(&batch.tenant) else { return Err(Error::PostgresAnswer) };
        let mut committed = match owned.judge(batch) {
            Ok(committed) => committed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (mut left, mut ids) = (Left::default(), std::mem::take(&mut self.job_ids));
        let mut next_job = || ids.next().unwrap_or_default();
        for operation in &batch.operations {
            if alone::is_needed(operation) {
                let removed = self.remove(&batch.tenant, operation, connection).await?;
                committed.removed.push(removed);
            } else if let Some(owned) = self.of(&batch.tenant) {
                owned.apply(batch, operation, (&mut committed, &mut left), &mut next_job);
            }
        }
        self.job_ids = ids;
        Ok(Ok((committed, left)))
    }
}

/// What still fits into a group.
#[derive(Default)]
struct Room {
    batches: usize,
    operations: usize,
    bytes: u64,
    of_tenants: HashMap<Tenant, usize>,
    is_alone: bool,
    has_deleted: bool,
}

impl Room {
    /// Whether the batch belongs to the group; the first always does.
    fn take(&mut self, batch: &Batch) -> bool {
        let (operations, bytes) = (batch.operations.len() + batch.preconditions.len(), size_bytes(batch));
        let is_alone = batch.operations.iter().any(alone::is_needed);
        // Which record of a list is the newest after one was deleted is not known without asking.
        let requires_list = batch.preconditions.iter().any(|one| matches!(one, Precondition::ListIs { .. }));
        let of_tenant = self.of_tenants.get(&batch.tenant).copied().unwrap_or_default();
        let is_full = self.batches == GROUP_BATCHES
            || self.operations + operations > GROUP_OPERATIONS
            || self.bytes + bytes > GROUP_BYTES
            || (of_tenant > 0 && of_tenant + operations > OPERATIONS_OF_A_TENANT);
        if self.batches > 0 && (is_full || is_alone || self.is_alone || (self.has_deleted && requires_list)) {
            return false;
        }
        self.batches += 1;
        self.operations += operations;
        self.bytes += bytes;
        self.is_alone = is_alone;
        self.has_deleted |= batch.operations.iter().any(|one| matches!(one, Op::DeleteRecord { .. }));
        *self.of_tenants.entry(batch.tenant.clone()).or_default() += operations;
        true
    }
}

fn size_bytes(batch: &Batch) -> u64 {
    let payloads = batch.operations.iter().map(|operation| match operation {
        Op::Enqueue(job) => job.payload.len() as u64,
        Op::Reschedule { payload: Some(payload), .. } => payload.len() as u64,
        _ => 0,
    });
    batch.stored_bytes() + payloads.sum::<u64>()
}

#[cfg(test)]
mod tests;
