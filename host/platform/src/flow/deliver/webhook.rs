//! Posting events to webhooks: signed, tried again on a schedule, given up in the end.

use domain::deliveries::{DeliveryAttempt, DeliveryState};
use domain::ids::WebhookId;
use domain::retry::{Attempt, Verdict, classify};
use store::{Job, LanePosition, Lookup, Op};

use super::dead_letters::{GivenUp, SwitchedOff};
use crate::Error;
use crate::flow::handle::Flow;
use crate::flow::work::Completion;
use crate::numbers::Destination;
use crate::ports::{OutboundError, Posted};
use crate::posting::{Message, answer_of, append_attempt, posting};
use crate::records::{Delivery, Kept, Webhook, table};

/// The shortest and the longest time until a delivery looks again whether its webhook was resumed.
const RESUME_LOOK_MS: (u64, u64) = (500, 10_000);

// === impl Flow ===

impl Flow {
    pub(crate) async fn deliver_to_webhook(
        &self,
        job: &Job,
        delivery: &Delivery,
        id: &WebhookId,
    ) -> Result<Completion, Error> {
        let found = table::find::<Webhook>(&*self.platform.store, &job.tenant, Lookup::Id(id.as_str())).await?;
        let Some(kept) = found else { return self.acknowledge(job, Vec::new()).await };
        if !kept.record.is_active && !delivery.is_replay {
            let Webhook { updated_at, inactive_reason, .. } = &kept.record;
            let reason = inactive_reason.as_deref();
            let webhook = SwitchedOff { noun: "webhook", updated_at: *updated_at, reason };
            return self.deliver_to_switched_off(job, delivery, webhook).await;
        }
        if let Some(paused_at_ms) = kept.record.paused_at_ms {
            return Ok(self.wait_for_resume(paused_at_ms));
        }
        let permit = match self.destination_gate.enter(id.as_str(), self.platform.clock.now_ms()) {
            Ok(permit) => permit,
            Err(until_ms) => return Ok(Completion::Released { until_ms }),
        };
        let posting = posting(&self.platform, &job.tenant, &kept.record, message(delivery))?;
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
        let made = attempt_made(delivery, (attempts, ms), (&posted, verdict));
        let mut operations = self.note_attempt(&job.tenant, &webhook.record, &delivery.emitter, &made).await?;
        operations.push(append_attempt(&webhook.record.id, &made)?);
        match verdict {
            Verdict::Delivered if webhook.record.inactive_reason.is_none() => self.acknowledge(job, operations).await,
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
                if webhook.record.is_off_by_hand() {
                    return self.acknowledge(job, operations).await;
                }
                self.switch(job, webhook, Some(reason), operations).await
            }
        }
    }

    /// A resumed webhook goes on soon after a short pause, and within seconds after a long one: what waits asks again after
    /// a part of the time that it has waited.
    fn wait_for_resume(&self, paused_at_ms: u64) -> Completion {
        let now_ms = self.platform.clock.now_ms();
        let wait_ms = (now_ms.saturating_sub(paused_at_ms) / 4).clamp(RESUME_LOOK_MS.0, RESUME_LOOK_MS.1);
        Completion::Released { until_ms: now_ms.saturating_add(wait_ms) }
    }

    /// Ends a job in the batch that switches its webhook off for a reason, or on again when that reason is gone. One that was
    /// switched off by hand stays off, whatever is delivered to it once more.
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

fn message(delivery: &Delivery) -> Message<'_> {
    let metadata = &delivery.event.metadata;
    Message {
        emit_id: &metadata.emit_id,
        emitter_id: &metadata.emitter_id,
        event_name: delivery.event_name(),
        body: delivery.event.event.as_str().to_owned(),
        trace: delivery.cause.context(),
    }
}

fn attempt_made(
    delivery: &Delivery,
    (attempt, ms): (u32, u64),
    (posted, verdict): (&Result<Posted, OutboundError>, Verdict),
) -> DeliveryAttempt {
    let (state, next_attempt_ms) = match verdict {
        Verdict::Delivered => (DeliveryState::Delivered, None),
        Verdict::Retry { at_ms } => (DeliveryState::Failing, u64::try_from(at_ms).ok()),
        Verdict::Dead | Verdict::Deactivate => (DeliveryState::GivenUp, None),
    };
    DeliveryAttempt {
        emit_id: delivery.event.metadata.emit_id.clone(),
        emitter_id: delivery.emitter.to_string(),
        event_name: delivery.event_name().to_owned(),
        trace_id: delivery.cause.trace_id,
        attempt,
        state,
        ms,
        next_attempt_ms,
        ..answer_of(posted)
    }
}

pub(crate) fn retry_after(posted: &Posted) -> Option<&str> {
    posted.headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.as_str())
}
