//! Requests that actions asked for with `$.send.http`: sent after the commit, and tried again on the schedule of deliveries.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::retry::{Attempt, Verdict, classify};
use serde_json::{Value, json};
use store::{Job, Lookup, Op};

use super::relay::Unsent;
use super::webhook::retry_after;
use crate::Error;
use crate::flow::handle::Flow;
use crate::flow::work::Completion;
use crate::invoke::workflow::{Failure, failure_event};
use crate::numbers::Destination;
use crate::ports::Posting;
use crate::records::{RecordError, Sending, StreamEntry, Workflow, names, table};

// === impl Flow ===

impl Flow {
    pub(crate) async fn send(&self, job: &Job, sending: &Sending) -> Result<Completion, Error> {
        // By tenant: what one made fail must not hold up another that sends to the same address.
        let destination = format!("{} {}", job.tenant, sending.url);
        let permit = match self.destination_gate.enter(&destination, self.platform.clock.now_ms()) {
            Ok(permit) => permit,
            Err(until_ms) => return Ok(Completion::Released { until_ms }),
        };
        let malformed = |error| RecordError::Malformed { kind: "job", source: serde::de::Error::custom(error) };
        let body = STANDARD.decode(&sending.body).map_err(malformed)?;
        let posted = self.platform.outbound.post(&job.tenant, self.request(sending, body.into())).await;
        if posted.as_ref().is_ok_and(|posted| posted.status < 500 && posted.status != 429) {
            permit.succeeded();
        } else {
            permit.failed(self.platform.clock.now_ms());
        }
        let attempt = match &posted {
            Ok(posted) => Attempt::Answered { status: posted.status, retry_after: retry_after(posted) },
            Err(_) => Attempt::Unanswered,
        };
        let attempts = usize::try_from(job.attempt).unwrap_or(usize::MAX).saturating_add(1);
        let random = u32::from_le_bytes(self.platform.entropy.bytes());
        let verdict = classify(attempt, attempts, self.platform.clock.instant_ms(), random);
        self.platform.numbers.delivered(Destination::Http, verdict);
        match verdict {
            Verdict::Delivered => self.acknowledge(job, Vec::new()).await,
            Verdict::Retry { at_ms } => self.retry(job, at_ms, Vec::new()).await,
            Verdict::Deactivate | Verdict::Dead => {
                let reason = posted.map_or_else(
                    |error| error.to_string(),
                    |posted| format!("the receiver answered {}", posted.status),
                );
                let what = format!("$.send.http to {}", sending.url);
                let unsent = Unsent { workflow: &sending.workflow, step: &sending.step, what };
                self.tell_unsent(job, &unsent, &reason).await
            }
        }
    }

    fn request(&self, sending: &Sending, body: Bytes) -> Posting {
        Posting {
            method: sending.method.clone(),
            url: sending.url.clone(),
            headers: sending.headers.clone(),
            body,
            excerpt_bytes: 0,
            timeout: std::time::Duration::from_millis(self.platform.config.limits.delivery_timeout_ms),
        }
    }

    /// In the `$errors` of its workflow, if that is still there.
    pub(super) async fn tell_unsent(&self, job: &Job, unsent: &Unsent<'_>, reason: &str) -> Result<Completion, Error> {
        let (store, id) = (&*self.platform.store, unsent.workflow.as_str());
        let Some(kept) = table::find::<Workflow>(store, &job.tenant, Lookup::Id(id)).await? else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let message = format!("{} was given up: {reason}", unsent.what);
        let failure = Failure::new(unsent.step, "not_sent", message);
        let context = json!({"workflow_id": kept.record.id, "owner_id": job.tenant.as_str()});
        let event = failure_event(&self.platform, &kept.record, &failure, &Value::Null.into(), &context.into());
        let keep = u32::try_from(self.platform.config.limits.events_kept).unwrap_or(u32::MAX);
        let (emitter, stream) = (id.to_owned(), names::ERRORS.to_owned());
        self.acknowledge(job, vec![Op::Append { emitter, stream, value: event.encode()?, keep }]).await
    }
}
