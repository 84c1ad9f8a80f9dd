//! E-mails and objects that steps asked for: handed to the operator's relays after the commit, and tried again on the schedule of
//! deliveries. A mail may arrive twice when its relay breaks off at the wrong moment; both have the same id.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::actions::Email;
use domain::ids::WorkflowId;
use domain::retry::{Attempt, Verdict, classify};
use store::Job;

use crate::Error;
use crate::flow::handle::Flow;
use crate::flow::work::Completion;
use crate::numbers::Destination;
use crate::ports::NotTaken;
use crate::records::{EmailSending, ObjectSending, RecordError};
use crate::relaying::{self, Object};

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
        let email = Email { subject, text, html, to };
        let taken = relaying::send_email(&self.platform, &job.tenant, (&id, &email), job.attempt == 0).await?;
        self.conclude(job, Destination::Email, &unsent, taken).await
    }

    pub(crate) async fn put_object(&self, job: &Job, sending: &ObjectSending) -> Result<Completion, Error> {
        let ObjectSending { workflow, step, bucket, key, account, body } = sending;
        let unsent = Unsent { workflow, step, what: format!("$.send.s3 to {bucket}/{key}") };
        let malformed = |error| RecordError::Malformed { kind: "job", source: serde::de::Error::custom(error) };
        let body = STANDARD.decode(body).map_err(malformed)?.into();
        let object = Object { bucket, key, account: account.as_ref(), body };
        let taken = relaying::put_object(&self.platform, &job.tenant, object).await?;
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
}
