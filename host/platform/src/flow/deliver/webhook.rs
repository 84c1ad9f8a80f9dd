//! Posting events to webhooks: signed, tried again on a schedule, given up in the end.

use domain::deliveries::{DeliveryAttempt, DeliveryState};
use domain::ids::WebhookId;
use domain::retry::{Attempt, Verdict, classify};
use domain::runs::{NAME_BYTES_MAXIMUM, cut};
use domain::webhooks::SigningSecret;
use store::{Job, LanePosition, Lookup, Op};

use super::dead_letters::GivenUp;
use crate::Error;
use crate::flow::handle::Flow;
use crate::flow::work::Completion;
use crate::numbers::Destination;
use crate::ports::{OutboundError, Posted, Posting};
use crate::records::{Delivery, Kept, RecordError, StreamEntry, Webhook, names, table};
use crate::vault::Context;

/// Attempts that are kept for each webhook, newest first.
const ATTEMPTS_KEPT: u32 = 200;

// === impl Flow ===

impl Flow {
    pub(crate) async fn deliver_to_webhook(
        &self,
        job: &Job,
        delivery: &Delivery,
        id: &WebhookId,
    ) -> Result<Completion, Error> {
        let found = table::find::<Webhook>(&*self.platform.store, &job.tenant, Lookup::Id(id.as_str())).await?;
        let Some(kept) = found.filter(|kept| kept.record.is_active || delivery.is_replay) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let permit = match self.destination_gate.enter(id.as_str(), self.platform.clock.now_ms()) {
            Ok(permit) => permit,
            Err(until_ms) => return Ok(Completion::Released { until_ms }),
        };
        let posting = self.posting(job, delivery, &kept.record)?;
        let begun_ms = self.platform.clock.now_ms();
        let posted = self.platform.outbound.post(&job.tenant, posting).await;
        let now_ms = self.platform.clock.now_ms();
        if posted.as_ref().is_ok_and(|posted| posted.status < 500 && posted.status != 429) {
            permit.succeeded();
        } else {
            permit.failed(now_ms);
        }
        self.judge(job, delivery, &kept, (posted, now_ms.saturating_sub(begun_ms))).await
    }

    fn posting(&self, job: &Job, delivery: &Delivery, webhook: &Webhook) -> Result<Posting, Error> {
        let (tenant, id) = (job.tenant.as_str(), webhook.id.as_str());
        let malformed = |error| RecordError::Malformed { kind: "webhook", source: serde::de::Error::custom(error) };
        let body = delivery.event.event.as_str().to_owned();
        let metadata = &delivery.event.metadata;
        let seconds = self.platform.clock.instant_ms() / 1000;
        // Standard Webhooks: several signatures are separated by spaces, and one that fits is enough.
        let mut signatures = Vec::new();
        for sealed in webhook.secrets(self.platform.clock.now_seconds()) {
            let context = Context { tenant, record: id, field: "signing_secret" };
            let secret = self.platform.vault.open(context, sealed)?;
            let secret = SigningSecret::parse(&String::from_utf8_lossy(secret.expose())).map_err(malformed)?;
            signatures.push(secret.sign(&metadata.emit_id, seconds, body.as_bytes()));
        }
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("webhook-id", metadata.emit_id.clone()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signatures.join(" ")),
            ("x-emitter-id", metadata.emitter_id.clone()),
            ("x-event-name", delivery.event_name().to_owned()),
        ];
        let traceparent = delivery.cause.context().to_traceparent().map(|header| ("traceparent", header));
        Ok(Posting {
            method: "POST".to_owned(),
            url: webhook.url.as_str().to_owned(),
            headers: headers.into_iter().chain(traceparent).map(|(name, value)| (name.to_owned(), value)).collect(),
            body: body.into(),
            timeout: std::time::Duration::from_millis(self.platform.config.limits.delivery_timeout_ms),
        })
    }

    async fn judge(
        &self,
        job: &Job,
        delivery: &Delivery,
        webhook: &Kept<Webhook>,
        (posted, ms): (Result<Posted, OutboundError>, u64),
    ) -> Result<Completion, Error> {
        let attempts = job.attempt.saturating_add(1);
        let attempt = match &posted {
            Ok(posted) => Attempt::Answered { status: posted.status, retry_after: retry_after(posted) },
            Err(_) => Attempt::Unanswered,
        };
        let random = u32::from_le_bytes(self.platform.entropy.bytes());
        let attempts_made = usize::try_from(attempts).unwrap_or(usize::MAX);
        let reason = match &posted {
            Ok(posted) => format!("the receiver answered {}", posted.status),
            Err(error) => error.to_string(),
        };
        let verdict = classify(attempt, attempts_made, self.platform.clock.instant_ms(), random);
        self.platform.note_attempt(delivery, Destination::Webhook, Some(verdict));
        let mut operations =
            vec![self.record_attempt(&webhook.record, delivery, (attempts, ms), (&posted, verdict))?];
        match verdict {
            Verdict::Delivered if webhook.record.is_active => self.acknowledge(job, operations).await,
            Verdict::Delivered => self.switch(job, webhook, None, operations).await,
            Verdict::Retry { at_ms } => self.retry(job, at_ms, operations).await,
            Verdict::Dead => {
                let given_up = GivenUp { attempts, reason };
                operations.extend(self.dead_letter(&job.tenant, delivery, job.entry, given_up).await?);
                self.acknowledge(job, operations).await
            }
            Verdict::Deactivate => {
                let given_up = GivenUp { attempts, reason: reason.clone() };
                operations.extend(self.dead_letter(&job.tenant, delivery, job.entry, given_up).await?);
                self.switch(job, webhook, Some(reason), operations).await
            }
        }
    }

    /// In the batch that holds what becomes of the delivery.
    fn record_attempt(
        &self,
        webhook: &Webhook,
        delivery: &Delivery,
        (attempt, ms): (u32, u64),
        (posted, verdict): (&Result<Posted, OutboundError>, Verdict),
    ) -> Result<Op, Error> {
        let (state, next_attempt_ms) = match verdict {
            Verdict::Delivered => (DeliveryState::Delivered, None),
            Verdict::Retry { at_ms } => (DeliveryState::Failing, u64::try_from(at_ms).ok()),
            Verdict::Dead | Verdict::Deactivate => (DeliveryState::GivenUp, None),
        };
        let made = DeliveryAttempt {
            emit_id: delivery.event.metadata.emit_id.clone(),
            emitter_id: delivery.emitter.to_string(),
            event_name: delivery.event_name().to_owned(),
            trace_id: delivery.cause.trace_id,
            attempt,
            state,
            status: posted.as_ref().ok().map(|posted| posted.status),
            error: posted.as_ref().err().map(|error| cut(&error.to_string(), NAME_BYTES_MAXIMUM)),
            ms,
            next_attempt_ms,
        };
        let (emitter, stream) = (webhook.id.to_string(), names::DELIVERIES.to_owned());
        Ok(Op::Append { emitter, stream, value: made.encode()?, keep: ATTEMPTS_KEPT })
    }

    /// Ends a job in the batch that switches its webhook on, or off for a reason.
    async fn switch(
        &self,
        job: &Job,
        webhook: &Kept<Webhook>,
        inactive_reason: Option<String>,
        operations: Vec<Op>,
    ) -> Result<Completion, Error> {
        let now = self.platform.clock.now_seconds();
        let is_active = inactive_reason.is_none();
        let switched = Webhook { is_active, inactive_reason, updated_at: now, ..webhook.record.clone() };
        let mut batch = self.platform.batch(&job.tenant).require(table::unchanged(webhook));
        batch.operations = operations;
        let batch = batch.then(table::put(&switched)?).then(Op::Acknowledge(job.lease));
        self.platform.store.commit(batch).await?;
        Ok(Completion::Committed)
    }

    /// The next event need not wait for this one: order is kept while all goes well.
    pub(crate) async fn retry(&self, job: &Job, at_ms: i64, operations: Vec<Op>) -> Result<Completion, Error> {
        let due_ms = u64::try_from(at_ms).unwrap_or_default();
        let retry = Op::Reschedule { lease: job.lease, due_ms, payload: None, lane_position: LanePosition::Leave };
        let mut batch = self.platform.batch(&job.tenant).then(retry);
        batch.operations.extend(operations);
        self.platform.store.commit(batch).await?;
        Ok(Completion::Committed)
    }
}

pub(crate) fn retry_after(posted: &Posted) -> Option<&str> {
    posted.headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.as_str())
}
