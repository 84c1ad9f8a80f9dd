//! Ends of leases are moved together: those that are asked for while others are moved share the next transaction.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::NOT_ON_DISK;
use crate::postgres::link::{Line, Place, Question};
use crate::postgres::rows::{Fields, number};
use crate::{CommitError, Error, JobId, Lease, Tenant};

const LOCK: &str = "SELECT 1 FROM tenants WHERE tenant = ANY($1) ORDER BY tenant FOR UPDATE";
/// A hold is that of a job which was enqueued for its own host and never leased: it has no token.
const EXTEND_JOBS: &str = "UPDATE jobs j SET available_ms = q.until_ms \
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) q(tenant, id, token, until_ms) \
     WHERE j.id = q.id AND j.tenant = q.tenant AND j.token IS NOT DISTINCT FROM q.token AND j.available_ms IS NOT NULL RETURNING j.id";
const LOWER_TENANTS: &str = "UPDATE tenants t SET earliest_ms = least(t.earliest_ms, q.until_ms) \
     FROM (SELECT tenant, min(until_ms) AS until_ms FROM unnest($1::text[], $2::bigint[]) a(tenant, until_ms) GROUP BY tenant) q \
     WHERE t.tenant = q.tenant";
const EXTEND_TIMERS: &str = "UPDATE timers t SET available_ms = q.until_ms \
     FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::bigint[]) q(tenant, timer, token, until_ms) \
     WHERE t.tenant = q.tenant AND t.timer = q.timer AND t.token = q.token RETURNING t.tenant, t.timer";
/// Calls that share a transaction.
const TOGETHER: usize = 256;
const WAITING: usize = 1024;

pub(crate) enum Held<'lease> {
    Lease(&'lease Lease),
    Hold(JobId),
}

pub(crate) struct Extensions {
    calls: mpsc::Sender<Call>,
    _worker: JoinSet<()>,
}

struct Call {
    tenant: Tenant,
    what: What,
    until_ms: i64,
    reply: oneshot::Sender<Result<bool, Error>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum What {
    Job { id: i64, token: Option<i64> },
    Timer { timer: String, token: i64 },
}

// === impl Extensions ===

impl Extensions {
    pub(crate) fn new(place: Arc<Place>) -> Self {
        let (calls, mut queue) = mpsc::channel(WAITING);
        let (line, mut worker) = (Line::new(place), JoinSet::new());
        worker.spawn(async move {
            let mut group = Vec::new();
            while queue.recv_many(&mut group, TOGETHER).await > 0 {
                while !group.is_empty() {
                    let (now, later) = apart(std::mem::take(&mut group));
                    let answers = extend(&line, &now).await;
                    answer(now, answers);
                    group = later;
                }
            }
        });
        Self { calls, _worker: worker }
    }

    pub(crate) async fn extend(&self, tenant: &Tenant, held: Held<'_>, until_ms: u64) -> Result<(), CommitError> {
        let what = match held {
            Held::Lease(Lease::Job(lease)) => What::Job { id: number(lease.job.0), token: Some(number(lease.token)) },
            Held::Lease(Lease::Timer(lease)) => What::Timer { timer: lease.timer.clone(), token: number(lease.token) },
            Held::Hold(job) => What::Job { id: number(job.0), token: None },
        };
        let (reply, answer) = oneshot::channel();
        let call = Call { tenant: tenant.clone(), what, until_ms: number(until_ms), reply };
        self.calls.send(call).await.map_err(|_| Error::Closed)?;
        let is_held = answer.await.map_err(|_| Error::Closed)??;
        if is_held { Ok(()) } else { Err(CommitError::LeaseLost) }
    }
}

/// No row is moved twice in one statement: what is asked for again comes later.
fn apart(calls: Vec<Call>) -> (Vec<Call>, Vec<Call>) {
    let mut seen = HashSet::new();
    calls.into_iter().partition(|call| {
        seen.insert(match &call.what {
            What::Job { id, .. } => (None, id.to_string()),
            What::Timer { timer, .. } => (Some(call.tenant.clone()), timer.clone()),
        })
    })
}

fn answer(calls: Vec<Call>, answers: Result<Vec<bool>, Error>) {
    let mut answers = answers.map(Vec::into_iter);
    for call in calls {
        let answer = match &mut answers {
            Ok(answers) => Ok(answers.next().unwrap_or_default()),
            Err(error) => Err(error.same_again()),
        };
        // A caller that went away is not a problem of the others.
        let _ = call.reply.send(answer);
    }
}

/// Which of the leases are held, and moved.
async fn extend(line: &Line, calls: &[Call]) -> Result<Vec<bool>, Error> {
    let tenants: BTreeSet<&str> = calls.iter().map(|call| call.tenant.as_str()).collect();
    let jobs = || {
        calls.iter().filter_map(|call| match &call.what {
            What::Job { id, token } => Some((call.tenant.as_str(), *id, *token, call.until_ms)),
            What::Timer { .. } => None,
        })
    };
    let timers = || {
        calls.iter().filter_map(|call| match &call.what {
            What::Timer { timer, token } => Some((call.tenant.as_str(), timer.as_bytes(), *token, call.until_ms)),
            What::Job { .. } => None,
        })
    };
    let questions = vec![
        Question::of(NOT_ON_DISK),
        Question::of(LOCK).with(tenants.into_iter().collect::<Vec<_>>()),
        Question::of(EXTEND_JOBS)
            .with(jobs().map(|job| job.0).collect::<Vec<_>>())
            .with(jobs().map(|job| job.1).collect::<Vec<_>>())
            .with(jobs().map(|job| job.2).collect::<Vec<_>>())
            .with(jobs().map(|job| job.3).collect::<Vec<_>>()),
        Question::of(LOWER_TENANTS)
            .with(jobs().map(|job| job.0).collect::<Vec<_>>())
            .with(jobs().map(|job| job.3).collect::<Vec<_>>()),
        Question::of(EXTEND_TIMERS)
            .with(timers().map(|timer| timer.0).collect::<Vec<_>>())
            .with(timers().map(|timer| timer.1).collect::<Vec<_>>())
            .with(timers().map(|timer| timer.2).collect::<Vec<_>>())
            .with(timers().map(|timer| timer.3).collect::<Vec<_>>()),
    ];
    let mut answers = line.transact(questions).await?.into_iter().skip(2);
    let mut moved_jobs = HashSet::new();
    for row in answers.next().unwrap_or_default() {
        moved_jobs.insert(row.field::<i64>(0)?);
    }
    let mut moved_timers = HashSet::new();
    for row in answers.nth(1).unwrap_or_default() {
        moved_timers.insert((row.field::<String>(0)?, row.field::<Vec<u8>>(1)?));
    }
    let is_moved = |call: &Call| match &call.what {
        What::Job { id, .. } => moved_jobs.contains(id),
        What::Timer { timer, .. } => moved_timers.contains(&(call.tenant.to_string(), timer.as_bytes().to_vec())),
    };
    Ok(calls.iter().map(is_moved).collect())
}
