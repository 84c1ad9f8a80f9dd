//! Leases: asked for in one round trip where one server has the partitions, extended together.
//!
//! Partitions fail independently: on a cluster each is asked on its own, and one whose server does not answer is reported
//! and holds up no other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::decode::{self, Row};
use super::encode::{self, Arguments};
use super::link::Link;
use super::{Redis, prefix, scripts, whole};
use crate::batch::MAX_MS;
use crate::{
    CommitError, Error, Job, JobId, Lease, LeaseRequest, LeasedWork, Looked, MAX_LEASES, Next, Partition, Shares,
    Tenant,
};

/// What one call extends at most; the server does nothing else meanwhile.
const EXTENDED_AT_ONCE: usize = 256;

/// What is wanted of a lease call: `None` is not looked at.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) jobs: Option<u32>,
    pub(super) ticks: Option<u32>,
    pub(super) ticks_first: bool,
}

/// Extensions that wait for the next call; those that arrive while one is under way share it.
#[derive(Clone)]
pub(super) struct Extensions {
    link: Link,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    extensions: Vec<Extension>,
    is_calling: bool,
}

struct Extension {
    prefix: String,
    arguments: Arguments,
    reply: oneshot::Sender<Result<bool, Error>>,
}

impl Redis {
    /// One call where all partitions are on one server, otherwise one for each at the same time: what there is room for is
    /// divided among them, and those that have more get what the others left.
    pub(super) async fn lease_of(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        (wanted, mut shares): (Wanted, Shares),
    ) -> Result<LeasedWork, Error> {
        let first = self.next_first(partitions.len());
        let mut asked: Vec<Partition> = partitions.iter().cycle().skip(first).take(partitions.len()).copied().collect();
        let (mut leased, mut left) = (LeasedWork::default(), request.max.min(MAX_LEASES));
        loop {
            let pass = self.lease_pass(&asked, LeaseRequest { max: left, ..request }, (wanted, &shares)).await;
            let pass = match pass {
                // What was leased before counts.
                Err(_) if !leased.looked.is_empty() => return Ok(leased),
                pass => pass?,
            };
            let count = u32::try_from(pass.jobs.len() + pass.ticks.len()).unwrap_or(u32::MAX);
            left = left.saturating_sub(count);
            pass.jobs.iter().for_each(|job| shares.take(&job.tenant));
            let has_more = |looked: &&Looked| match looked.next {
                Next::Due(due_ms) => due_ms.is_some_and(|due_ms| due_ms <= request.now_ms),
                Next::NotAsked => true,
                Next::Failed => false,
            };
            asked = pass.looked.iter().filter(has_more).map(|looked| looked.partition).collect();
            leased.looked.retain(|before| !pass.looked.iter().any(|looked| looked.partition == before.partition));
            leased.jobs.extend(pass.jobs);
            leased.ticks.extend(pass.ticks);
            leased.looked.extend(pass.looked);
            if !self.link.is_cluster() || count == 0 || left == 0 || asked.is_empty() {
                return Ok(leased);
            }
        }
    }

    async fn lease_pass(
        &self,
        order: &[Partition],
        request: LeaseRequest,
        (wanted, shares): (Wanted, &Shares),
    ) -> Result<LeasedWork, Error> {
        let max = request.max;
        let calls: Vec<(&[Partition], u32)> = if self.link.is_cluster() {
            let count = u32::try_from(order.len()).unwrap_or(u32::MAX).max(1);
            let share = |index: usize| max / count + u32::from((index as u64) < u64::from(max % count));
            let all = order.chunks(1).enumerate().map(|(index, one)| (one, share(index)));
            all.filter(|(_, share)| *share > 0 || max == 0).collect()
        } else {
            vec![(order, max)]
        };
        let asked = join_all(calls.iter().map(|(partitions, max)| {
            self.lease_call(partitions, LeaseRequest { max: *max, ..request }, (wanted, shares))
        }))
        .await;
        let mut leased = LeasedWork::default();
        let (mut failures, mut failure) = (0, None);
        for ((partitions, _), answer) in calls.iter().zip(asked) {
            match answer {
                Ok(more) => {
                    leased.jobs.extend(more.jobs);
                    leased.ticks.extend(more.ticks);
                    leased.looked.extend(more.looked);
                }
                Err(error) => {
                    tracing::debug!(%error, ?partitions, "partitions could not be asked for work");
                    let failed = |partition: &Partition| Looked { partition: *partition, next: Next::Failed };
                    leased.looked.extend(partitions.iter().map(failed));
                    (failures, failure) = (failures + 1, Some(error));
                }
            }
        }
        for partition in order {
            if !leased.looked.iter().any(|looked| looked.partition == *partition) {
                leased.looked.push(Looked { partition: *partition, next: Next::NotAsked });
            }
        }
        match failure {
            Some(error) if failures == calls.len() => Err(error),
            _ => Ok(leased),
        }
    }

    async fn lease_call(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        (wanted, shares): (Wanted, &Shares),
    ) -> Result<LeasedWork, Error> {
        let prefixes: Vec<String> = partitions.iter().map(|partition| prefix(&self.namespace, *partition)).collect();
        let keys: Vec<&str> = prefixes.iter().map(String::as_str).collect();
        let most = |wanted: Option<u32>| wanted.map_or(-1, i64::from);
        let mut arguments = Arguments::default();
        arguments.number(request.now_ms).number(request.until_ms()).number(request.max);
        arguments.number(most(wanted.ticks)).number(most(wanted.jobs));
        arguments.text(if wanted.ticks_first { "ticks" } else { "jobs" }).append(&encode::shares(shares));
        let answers: Vec<Row> = self.link.run(&scripts::LEASE, &keys, &arguments).await?;
        let mut leased = LeasedWork::default();
        for (partition, mut answer) in partitions.iter().zip(answers) {
            for row in answer.take::<Vec<Row>>()? {
                leased.jobs.push(row.job()?);
            }
            for row in answer.take::<Vec<Row>>()? {
                leased.ticks.push(row.tick()?);
            }
            let next = Next::Due(answer.take::<Option<f64>>()?.map(whole));
            leased.looked.push(Looked { partition: *partition, next });
        }
        Ok(leased)
    }
}

/// The earliest of what was answered; a partition that was not asked may have work right now. One that failed is an error
/// here: the caller asked for one kind of one partition, or cannot tell them apart.
pub(super) fn next_due_ms(leased: &LeasedWork, now_ms: u64) -> Option<u64> {
    let due = |looked: &Looked| match looked.next {
        Next::Due(due_ms) => due_ms,
        Next::NotAsked => Some(now_ms),
        Next::Failed => None,
    };
    leased.looked.iter().filter_map(due).min()
}

// === impl Extensions ===

impl Extensions {
    pub(super) fn new(link: Link) -> Self {
        Self { link, waiting: Arc::default() }
    }

    pub(super) async fn extend(
        &self,
        prefix: String,
        tenant: &Tenant,
        lease: Held<'_>,
        until_ms: u64,
    ) -> Result<(), CommitError> {
        let (kind, id, token) = match lease {
            Held::Lease(Lease::Job(lease)) => ("job", encode::job(lease.job), Some(lease.token)),
            Held::Lease(Lease::Timer(lease)) => ("timer", lease.timer.clone(), Some(lease.token)),
            Held::Hold(job) => ("hold", encode::job(job), None),
        };
        let mut arguments = Arguments::default();
        arguments.text(kind).text(tenant.as_str()).text(&id).optional(token).number(until_ms.min(MAX_MS));
        let (reply, answer) = oneshot::channel();
        self.queue(Extension { prefix, arguments, reply });
        let is_held = answer.await.map_err(|_| Error::Closed)??;
        if is_held { Ok(()) } else { Err(CommitError::LeaseLost) }
    }

    /// On a task of its own, because a caller that goes away must not take the extensions of others with it.
    #[expect(clippy::disallowed_methods, reason = "ends when no extension waits any more")]
    fn queue(&self, extension: Extension) {
        let mut waiting = self.lock();
        waiting.extensions.push(extension);
        if !std::mem::replace(&mut waiting.is_calling, true) {
            tokio::spawn(self.clone().call_while_waited_for());
        }
    }

    async fn call_while_waited_for(self) {
        loop {
            // Those that were leased together are extended together: they are all ready by the time this goes on.
            tokio::task::yield_now().await;
            let Some(extensions) = self.next() else { return };
            self.call(extensions).await;
        }
    }

    fn next(&self) -> Option<Vec<Extension>> {
        let mut waiting = self.lock();
        if waiting.extensions.is_empty() {
            waiting.is_calling = false;
            return None;
        }
        let count = waiting.extensions.len().min(EXTENDED_AT_ONCE);
        Some(waiting.extensions.drain(..count).collect())
    }

    /// On a cluster, those of each partition at the same time.
    async fn call(&self, mut extensions: Vec<Extension>) {
        extensions.sort_by(|one, other| one.prefix.cmp(&other.prefix));
        let is_together = |one: &Extension, other: &Extension| !self.link.is_cluster() || one.prefix == other.prefix;
        let mut groups: Vec<Vec<Extension>> = Vec::new();
        for extension in extensions {
            match groups.last_mut() {
                Some(group) if group.first().is_some_and(|first| is_together(first, &extension)) => {
                    group.push(extension);
                }
                _ => groups.push(vec![extension]),
            }
        }
        join_all(groups.into_iter().map(|group| self.call_group(group))).await;
    }

    async fn call_group(&self, group: Vec<Extension>) {
        let keys: Vec<&str> = group.iter().map(|extension| extension.prefix.as_str()).collect();
        let mut arguments = Arguments::default();
        for extension in &group {
            arguments.append(&extension.arguments);
        }
        let answers: Result<Vec<bool>, Error> = self.link.run(&scripts::EXTEND, &keys, &arguments).await;
        let mut answers = answers.map(Vec::into_iter);
        for extension in group {
            let answer = match &mut answers {
                Ok(answers) => answers.next().ok_or_else(decode::unexpected),
                Err(error) => Err(error.same_again()),
            };
            // A caller that went away is not a problem of its group.
            let _ = extension.reply.send(answer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is extended.
pub(super) enum Held<'lease> {
    Lease(&'lease Lease),
    Hold(JobId),
}

/// The jobs of a call that asked for jobs alone.
pub(super) fn jobs(leased: LeasedWork, now_ms: u64) -> crate::Leased<Job> {
    crate::Leased { next_due_ms: next_due_ms(&leased, now_ms), items: leased.jobs }
}
