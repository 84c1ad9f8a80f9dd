//! E-mails and objects that steps asked for: handed to the operator's relays after the commit, and tried again on the schedule of
//! deliveries. A mail may arrive twice when its relay breaks off at the wrong moment; both have the same id.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::actions::Email;
use domain::ids::{UserId, WorkflowId};
use domain::mail::{Envelope, render};
use domain::retry::{Attempt, Verdict, classify};
use domain::users::day_start_ms;
use store::{CommitError, Job, Lookup, Op, Precondition};

use crate::Error;
use crate::flow::handle::Flow;
use crate::flow::work::Completion;
use crate::numbers::Destination;
use crate::ports::NotTaken;
use crate::records::{EmailSending, ObjectSending, RecordError, User, names, table};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What sends, and in which words that is told.
pub(super) struct Unsent<'a> {
    pub(super) workflow: &'a WorkflowId,
    pub(super) step: &'a str,
    pub(super) what: String,
}

// === impl Flow ===

impl Flow {
    pub(crate) async fn send_email(&self, job: &Job, sending: &EmailSending) -> Result<Completion, Error> {
        let EmailSending { workflow, step, id, subject, text, html, to } = sending.clone();
        let unsent = Unsent { workflow: &workflow, step: &step, what: "$.send.email".to_owned() };
        let owner = match to.is_empty() {
            true => self.owner_address(job).await?,
            false => None,
        };
        let to: Vec<String> = to.into_iter().chain(owner).collect();
        let Some(terms) = self.platform.relays.email().filter(|_| !to.is_empty()) else {
            return self.tell_unsent(job, &unsent, "this server has no mail relay, or the account no address").await;
        };
        if job.attempt == 0 && !self.count_recipients(job, to.len()).await? {
            let limit = self.platform.config.shares.emails_per_day;
            return self.tell_unsent(job, &unsent, &format!("an account has {limit} recipients a day")).await;
        }
        let envelope = Envelope { from: &terms.from, to: &to, id: &id, now_ms: self.platform.clock.instant_ms() };
        let message = render(&Email { subject, text, html, to: Vec::new() }, &envelope);
        let taken = self.platform.relays.send_email(&to, &message).await;
        self.conclude(job, Destination::Email, &unsent, taken).await
    }

    pub(crate) async fn put_object(&self, job: &Job, sending: &ObjectSending) -> Result<Completion, Error> {
        let ObjectSending { workflow, step, bucket, key, body } = sending;
        let unsent = Unsent { workflow, step, what: format!("$.send.s3 to {bucket}/{key}") };
        let malformed = |error| RecordError::Malformed { kind: "job", source: serde::de::Error::custom(error) };
        let body = STANDARD.decode(body).map_err(malformed)?;
        let taken = self.platform.relays.put_object(&job.tenant, bucket, key, body.into()).await;
        self.conclude(job, Destination::S3, &unsent, taken).await
    }

    /// What was refused for good is given up at once.
    async fn conclude(
        &self,
        job: &Job,
        destination: Destination,
        unsent: &Unsent<'_>,
        taken: Result<(), NotTaken>,
    ) -> Result<Completion, Error> {
        let attempts = usize::try_from(job.attempt).unwrap_or(usize::MAX).saturating_add(1);
        let random = u32::from_le_bytes(self.platform.entropy.bytes());
        let verdict = match &taken {
            Ok(()) => Verdict::Delivered,
            Err(NotTaken { is_final: true, .. }) => Verdict::Dead,
            Err(_) => classify(Attempt::Unanswered, attempts, self.platform.clock.instant_ms(), random),
        };
        self.platform.numbers.delivered(destination, verdict);
        match (verdict, taken) {
            (Verdict::Retry { at_ms }, _) => self.retry(job, at_ms, Vec::new()).await,
            (_, Err(NotTaken { reason, .. })) => self.tell_unsent(job, unsent, &reason).await,
            (_, Ok(())) => self.acknowledge(job, Vec::new()).await,
        }
    }

    async fn owner_address(&self, job: &Job) -> Result<Option<String>, Error> {
        let Ok(id) = UserId::parse(job.tenant.as_str()) else { return Ok(None) };
        let found = table::find::<User>(&*self.platform.store, &names::operator(), Lookup::Id(id.as_str())).await?;
        Ok(found.map(|kept| kept.record.email))
    }

    /// `false` when there were too many today.
    async fn count_recipients(&self, job: &Job, recipients: usize) -> Result<bool, Error> {
        let now_ms = self.platform.clock.instant_ms();
        let day_ms = day_start_ms(now_ms);
        let counter = names::emails_of_day(day_ms);
        let amount = i64::try_from(recipients).unwrap_or(i64::MAX);
        let limit = i64::try_from(self.platform.config.shares.emails_per_day).unwrap_or(i64::MAX);
        let below = Precondition::CounterBelow { counter: counter.clone(), limit: limit.saturating_sub(amount - 1) };
        let expires_ms = u64::try_from(day_ms + 2 * DAY_MS).ok();
        let count = Op::Count { counter, amount, expires_ms };
        match self.platform.store.commit(self.platform.batch(&job.tenant).require(below).then(count)).await {
            Ok(_) => Ok(true),
            Err(CommitError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
