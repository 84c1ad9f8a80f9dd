//! The health of webhooks: noted with each attempt, and reported once when one fails for an hour.
//!
//! The first failure queues a job that is due in an hour, so that the report comes in time however long the pause between
//! attempts is, and also after a restart. The job and the record of health change in one batch, so there is one job
//! for a webhook at most, and one report for an outage.

use domain::deliveries::{DeliveryAttempt, DeliveryState, Failure, OUTAGE_MS};
use domain::fan_out::Cause;
use domain::ids::{EmitterId, WebhookId};
use domain::json::Json;
use domain::plan::iso_8601;
use domain::trace::{TraceContext, TraceId};
use serde_json::json;
use store::{Enqueue, Job, LanePosition, Lookup, Op, Tenant};

use super::Report;
use crate::Error;
use crate::flow::handle::Flow;
use crate::flow::work::Completion;
use crate::invoke::{Deliveries, Outgoing, Room, Sender, deliveries};
use crate::records::{Kept, Source, StreamEntry, Webhook, WebhookHealth, Work, Workflow, names, table};

/// The code of the report.
const CODE: &str = "webhook_failing";
/// After an attempt changed the health in the same moment.
const LOOK_AGAIN_MS: u64 = 1000;

// === impl Flow ===

impl Flow {
    /// What an attempt changes in the health of its webhook: mostly nothing while all goes well.
    pub(crate) async fn note_attempt(
        &self,
        tenant: &Tenant,
        webhook: &Webhook,
        emitter: &EmitterId,
        attempt: &DeliveryAttempt,
    ) -> Result<Vec<Op>, Error> {
        let now_ms = self.platform.clock.now_ms();
        let found = self.health(tenant, &webhook.id).await?.map(|kept| kept.record);
        let mut noted = found.unwrap_or_else(|| WebhookHealth::new(webhook.id.clone()));
        if attempt.state == DeliveryState::Delivered {
            let Some(health) = noted.health.after_success(now_ms) else { return Ok(Vec::new()) };
            return Ok(vec![table::put(&WebhookHealth { health, is_reported: false, ..noted })?]);
        }
        let failure = Failure { at_ms: now_ms, status: attempt.status, error: attempt.error.clone() };
        noted.health = noted.health.after_failure(failure);
        noted.failing_emitter = Some(emitter.clone());
        if attempt.status == Some(410) {
            // It is switched off, and says so itself.
            noted.health.failing_since_ms = None;
        }
        let mut operations = Vec::new();
        if let Some(due_ms) = noted.health.outage_ms().filter(|_| noted.check_due_ms.is_none() && !noted.is_reported) {
            noted.check_due_ms = Some(due_ms);
            let payload = Work::CheckWebhook { webhook: webhook.id.clone() }.encode()?;
            operations.push(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }));
        }
        operations.push(table::put(&noted)?);
        Ok(operations)
    }

    /// Reports an outage that lasts for an hour, or looks again when a later one will.
    pub(crate) async fn check_webhook(&self, job: &Job, id: &WebhookId) -> Result<Completion, Error> {
        let now_ms = self.platform.clock.now_ms();
        let webhook = table::find::<Webhook>(&*self.platform.store, &job.tenant, Lookup::Id(id.as_str())).await?;
        let (Some(webhook), Some(kept)) = (webhook, self.health(&job.tenant, id).await?) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let mut noted = kept.record.clone();
        let is_delivered_to = webhook.record.is_active && webhook.record.paused_at_ms.is_none();
        let (due_ms, mut operations) = match noted.health.outage_ms().filter(|_| is_delivered_to) {
            Some(due_ms) if due_ms > now_ms => (Some(due_ms), Vec::new()),
            Some(_) => {
                noted.is_reported = true;
                (None, self.report_outage(&job.tenant, &webhook.record, &noted).await?)
            }
            None => (None, Vec::new()),
        };
        noted.check_due_ms = due_ms;
        operations.push(table::put(&noted)?);
        operations.push(match due_ms {
            Some(due_ms) => {
                Op::Reschedule { lease: job.lease, due_ms, payload: None, lane_position: LanePosition::Leave }
            }
            None => Op::Acknowledge(job.lease),
        });
        let mut batch = self.platform.batch(&job.tenant).require(table::unchanged(&kept));
        batch.operations = operations;
        match self.platform.store.commit(batch).await.map_err(Error::from) {
            Ok(_) => Ok(Completion::Committed),
            Err(Error::Changed) => Ok(Completion::Released { until_ms: now_ms.saturating_add(LOOK_AGAIN_MS) }),
            Err(error) => Err(error),
        }
    }

    /// An event in `$errors` of the emitter whose event failed last, for every listener but the webhook itself.
    async fn report_outage(&self, tenant: &Tenant, webhook: &Webhook, noted: &WebhookHealth) -> Result<Vec<Op>, Error> {
        let Some(emitter) = &noted.failing_emitter else { return Ok(Vec::new()) };
        if !self.exists(tenant, emitter).await? {
            return Ok(Vec::new());
        }
        let platform = &self.platform;
        let message = outage_message(webhook, noted);
        let details: Json = json!({"webhook_id": webhook.id, "health": noted.health}).into();
        let report = Report { code: CODE, message: &message, original_event: Some(details) };
        let event = self.report_event(emitter.as_str(), report);
        let keep = u32::try_from(platform.config.limits.events_kept).unwrap_or(u32::MAX);
        let append =
            Op::Append { emitter: emitter.to_string(), stream: names::ERRORS.to_owned(), value: event.encode()?, keep };
        let trace_id = TraceId::from_random(platform.entropy.bytes());
        let trace = TraceContext { trace_id, ..TraceContext::default() };
        let cause = Cause::outside(platform.config.limits.deliveries_per_trigger, trace);
        let sender = Sender { emitter, now_ms: platform.clock.now_ms(), cause };
        let subscriptions = platform.listeners().of(&*platform.store, tenant).await?;
        let others: Vec<_> =
            subscriptions.iter().filter(|one| one.listener_id.as_str() != webhook.id.as_str()).cloned().collect();
        let outgoing = Outgoing { index: 0, stream: names::ERRORS, event: &event, delivery_ms: None };
        let Deliveries { operations, .. } = deliveries(&others, &sender, Room::Assumed, std::iter::once(outgoing))?;
        Ok(std::iter::once(append).chain(operations).collect())
    }

    async fn health(&self, tenant: &Tenant, id: &WebhookId) -> Result<Option<Kept<WebhookHealth>>, Error> {
        Ok(table::find(&*self.platform.store, tenant, Lookup::Id(id.as_str())).await?)
    }

    async fn exists(&self, tenant: &Tenant, emitter: &EmitterId) -> Result<bool, Error> {
        let (store, id) = (&*self.platform.store, Lookup::Id(emitter.as_str()));
        Ok(match emitter {
            EmitterId::Source(_) => table::find::<Source>(store, tenant, id).await?.is_some(),
            EmitterId::Workflow(_) => table::find::<Workflow>(store, tenant, id).await?.is_some(),
        })
    }
}

fn outage_message(webhook: &Webhook, noted: &WebhookHealth) -> String {
    let since_ms = noted.health.failing_since_ms.unwrap_or_default();
    let since = iso_8601(i64::try_from(since_ms).unwrap_or(i64::MAX));
    let last = match &noted.health.last_failure {
        Some(Failure { status: Some(status), .. }) => format!("the receiver answered {status}"),
        Some(Failure { error: Some(error), .. }) => error.clone(),
        _ => "nothing is known".to_owned(),
    };
    let minutes = OUTAGE_MS / 60_000;
    format!("webhook {} fails for more than {minutes} minutes, since {since}; last: {last}", webhook.id)
}
