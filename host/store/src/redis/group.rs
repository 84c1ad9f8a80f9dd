//! Group commit: batches that arrive while calls are under way share the next one, its script run and its fsync.
//!
//! - A batch is not delayed to fill a group: while fewer than `CALLS` calls are in flight it is sent at once. The sending
//!   task yields once first, because callers that were just answered tend to commit again in the same round.
//! - Each batch has an answer of its own; one that is refused does not affect the others of its group. Only when the call
//!   itself fails do all of its batches fail, and whether they were applied is unknown.
//! - Retries are idempotent: a group is only ever sent again unchanged, and the server keeps the number and the answers of
//!   the last group of each call. The same number gets the same answers and changes nothing; a smaller number is a late
//!   duplicate and is ignored. That covers every cause of a repeat: a lost connection, a fail-over, `FUNCTION FLUSH`, the
//!   cluster's own redirections, a packet that arrives after its time-out.
//! - On a cluster the batches of a group are of one partition, that is of one slot; one server takes any.
//! - A caller that is cancelled cancels nothing: calls are made by tasks of their own, which end when the queue is empty.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot};

use super::encode::Arguments;
use super::link::Link;
use super::{decode, encode, scripts};
use crate::numbers::Numbers;
use crate::{Batch, Error, Origin, Partition, Pulse, Tenant};

/// A group ends before the next batch would exceed one of these: the script of a full one takes a few milliseconds, in
/// which the server does nothing else. A batch that is larger than that goes alone.
const GROUP_BATCHES: usize = 128;
const GROUP_ARGUMENTS: usize = 8192;
const GROUP_BYTES: usize = 1 << 20;
/// What one tenant has of a group: all of it waits for the whole script, and a tenant whose runs cause thousands of
/// operations waits behind itself. A batch that is larger by itself is the only one of its tenant.
const ARGUMENTS_OF_A_TENANT: usize = GROUP_ARGUMENTS / 2;
/// One is worked on by the server while the other is prepared here.
const CALLS: usize = 2;
/// Batches that wait; beyond it, callers wait before they are queued.
const WAITING_BATCHES: usize = 1024;

#[derive(Clone)]
pub(super) struct Groups {
    shared: Arc<Shared>,
}

/// What a batch is to a group.
pub(super) struct Member {
    tenant: Tenant,
    /// Of the keys of its partition.
    prefix: String,
    partition: Partition,
    arguments: Arguments,
}

struct Shared {
    link: Link,
    numbers: Arc<Numbers>,
    pulse: Pulse,
    channel: String,
    client: String,
    groups: AtomicU64,
    /// One per partition of a cluster, otherwise one.
    lines: Vec<Line>,
}

struct Line {
    queue: Mutex<Queue>,
    /// Each queue has its own, because servers fail one by one.
    room: Semaphore,
    /// The keys that hold number and answers of the last group of each call.
    done: [String; CALLS],
    /// The key that exists while an emitter of the queue has readers, on any host.
    live: String,
}

struct Queue {
    waiting: VecDeque<(Member, Reply)>,
    spare_calls: Vec<usize>,
}

type Reply = oneshot::Sender<Result<String, Error>>;

// === impl Member ===

impl Member {
    pub(super) fn new(prefix: String, batch: &Batch, partition: Partition) -> Self {
        let tenant = batch.tenant.clone();
        Self { tenant, prefix, partition, arguments: encode::batch(batch, partition) }
    }
}

// === impl Groups ===

impl Groups {
    /// `client` is this host's random id; `homes` are the prefixes of the partitions, each of which has a queue.
    pub(super) fn new(
        (link, numbers): (Link, Arc<Numbers>),
        pulse: Pulse,
        (client, channel): (String, String),
        homes: &[String],
    ) -> Self {
        let line = |home: &String| {
            let queue = Mutex::new(Queue { waiting: VecDeque::new(), spare_calls: (0..CALLS).collect() });
            let done = std::array::from_fn(|call| format!("{home}:done:{client}:{call}"));
            Line { queue, room: Semaphore::new(WAITING_BATCHES), done, live: format!("{home}:live") }
        };
        let lines = homes.iter().map(line).collect();
        let groups = AtomicU64::new(1);
        Self { shared: Arc::new(Shared { link, numbers, pulse, channel, client, groups, lines }) }
    }

    /// The script's answer to this batch.
    #[expect(clippy::disallowed_methods, reason = "ends when no commit waits any more")]
    pub(super) async fn commit(&self, partition: Partition, member: Member) -> Result<String, Error> {
        let line = self.shared.line_of(partition);
        let room = self.shared.lines.get(line).ok_or(Error::Closed)?.room.acquire();
        let _room = room.await.map_err(|_| Error::Closed)?;
        let (reply, answer) = oneshot::channel();
        if let Some(call) = self.shared.queue(line, member, reply) {
            tokio::spawn(call_while_waited_for(Arc::clone(&self.shared), line, call));
        }
        answer.await.map_err(|_| Error::Closed)?
    }

    /// The key that is there while any emitter of the partition's line has readers.
    pub(super) fn live_key(&self, partition: Partition) -> Option<&str> {
        self.shared.lines.get(self.shared.line_of(partition)).map(|line| line.live.as_str())
    }

    #[cfg(test)]
    pub(super) async fn send(&self, done: &str, number: u64, group: &[Member]) -> Result<Vec<String>, Error> {
        let live = group.first().map(|member| format!("{}:live", member.prefix)).unwrap_or_default();
        self.shared.send((done, &live), number, group).await
    }
}

/// Sends groups one after the other until the queue is empty; `CALLS` of these run at a time.
async fn call_while_waited_for(shared: Arc<Shared>, line: usize, call: usize) {
    let Some(Line { done, live, .. }) = shared.lines.get(line) else { return };
    let Some(done) = done.get(call) else { return };
    loop {
        tokio::task::yield_now().await;
        let Some((members, replies)) = shared.next_group(line, call) else { return };
        let number = shared.groups.fetch_add(1, Ordering::Relaxed);
        shared.numbers.grouped(members.len());
        let answers = shared.send((done, live), number, &members).await;
        shared.answer(&members, replies, answers);
    }
}

// === impl Shared ===

impl Shared {
    fn line_of(&self, partition: Partition) -> usize {
        usize::from(partition.index()) % self.lines.len().max(1)
    }

    fn line(&self, line: usize) -> Option<MutexGuard<'_, Queue>> {
        Some(self.lines.get(line)?.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The call to make, if there is one to spare.
    fn queue(&self, line: usize, member: Member, reply: Reply) -> Option<usize> {
        let mut line = self.line(line)?;
        line.waiting.push_back((member, reply));
        line.spare_calls.pop()
    }

    /// `None` when the queue is empty; the call is marked as spare again.
    fn next_group(&self, line: usize, call: usize) -> Option<(Vec<Member>, Vec<Reply>)> {
        let mut line = self.line(line)?;
        if line.waiting.is_empty() {
            line.spare_calls.push(call);
            return None;
        }
        let goes = fitting(line.waiting.iter().map(|(member, _)| (&member.tenant, &member.arguments)));
        if !goes.contains(&false) {
            return Some(line.waiting.drain(..).unzip());
        }
        let (mut group, mut left) = (Vec::new(), VecDeque::new());
        for (one, goes) in line.waiting.drain(..).zip(goes) {
            if goes {
                group.push(one);
            } else {
                left.push_back(one);
            }
        }
        line.waiting = left;
        Some(group.into_iter().unzip())
    }

    async fn send(&self, (done, live): (&str, &str), number: u64, group: &[Member]) -> Result<Vec<String>, Error> {
        let mut arguments = Arguments::default();
        arguments.number(number).text(&self.channel).text(&self.client).text(live);
        arguments.number(u8::from(self.pulse.is_busy()));
        for member in group {
            arguments.number(member.arguments.len() + 1).append(&member.arguments);
        }
        let keys: Vec<&str> = std::iter::once(done).chain(group.iter().map(|member| member.prefix.as_str())).collect();
        let answer: String = self.link.call(&scripts::COMMIT, &keys, &arguments).await?;
        Ok(answer.split('\n').map(ToOwned::to_owned).collect())
    }

    fn answer(&self, members: &[Member], replies: Vec<Reply>, answers: Result<Vec<String>, Error>) {
        let mut answers = answers.map(Vec::into_iter);
        for (member, reply) in members.iter().zip(replies) {
            let answer = match &mut answers {
                Ok(answers) => answers.next().ok_or_else(decode::unexpected),
                Err(error) => Err(error.same_again()),
            };
            if let Some(due_ms) = answer.as_ref().ok().and_then(|answer| decode::due_ms(answer)) {
                self.pulse.work_in(member.partition, due_ms, Origin::Here);
            }
            // A caller that went away is not a problem of its group.
            let _ = reply.send(answer);
        }
    }
}

/// Which of the batches that wait make the next group: at least the first. Those of one tenant keep their order.
fn fitting<'batch>(waiting: impl Iterator<Item = (&'batch Tenant, &'batch Arguments)>) -> Vec<bool> {
    let (mut batches, mut arguments, mut size_bytes, mut is_full) = (0, 0, 0, false);
    let mut of_tenants: HashMap<&Tenant, usize> = HashMap::new();
    let fits = |(tenant, batch): (&'batch Tenant, &'batch Arguments)| {
        let of_tenant = of_tenants.entry(tenant).or_default();
        let is_first = *of_tenant == 0;
        // Beyond it stays beyond it: what comes after one that waits waits too.
        *of_tenant += batch.len().max(1);
        if !is_first && *of_tenant > ARGUMENTS_OF_A_TENANT {
            return false;
        }
        let (more, more_bytes) = (arguments + batch.len(), size_bytes + batch.size_bytes());
        is_full |= batches == GROUP_BATCHES || (batches > 0 && (more > GROUP_ARGUMENTS || more_bytes > GROUP_BYTES));
        if !is_full {
            (batches, arguments, size_bytes) = (batches + 1, more, more_bytes);
        }
        !is_full
    };
    waiting.map(fits).collect()
}

#[cfg(test)]
mod tests;
