//! The request that brings an event to a webhook, signed, and the record of what came of it.

use std::time::Duration;

use domain::deliveries::{DeliveryAttempt, DeliveryState, EXCERPT_BYTES, excerpt};
use domain::ids::WebhookId;
use domain::runs::{NAME_BYTES_MAXIMUM, cut};
use domain::trace::{TraceContext, TraceId};
use domain::webhooks::SigningSecret;
use store::{Op, Tenant};

use crate::ports::{OutboundError, Posted, Posting};
use crate::records::{RecordError, StreamEntry, Webhook, names};
use crate::vault::Context;
use crate::{Error, Platform};

/// Attempts that are kept for each webhook, newest first.
const ATTEMPTS_KEPT: u32 = 200;

/// What is posted.
pub(crate) struct Message<'a> {
    pub(crate) emit_id: &'a str,
    pub(crate) emitter_id: &'a str,
    pub(crate) event_name: &'a str,
    /// The event as JSON.
    pub(crate) body: String,
    /// What it is part of.
    pub(crate) trace: TraceContext,
}

pub(crate) fn posting(
    platform: &Platform,
    tenant: &Tenant,
    webhook: &Webhook,
    message: Message<'_>,
) -> Result<Posting, Error> {
    let malformed = |error| RecordError::Malformed { kind: "webhook", source: serde::de::Error::custom(error) };
    let Message { emit_id, emitter_id, event_name, body, trace } = message;
    let seconds = platform.clock.instant_ms() / 1000;
    // Standard Webhooks: several signatures are separated by spaces, and one that fits is enough.
    let mut signatures = Vec::new();
    for sealed in webhook.secrets(platform.clock.now_seconds()) {
        let context = Context { tenant: tenant.as_str(), record: webhook.id.as_str(), field: "signing_secret" };
        let secret = platform.vault.open(context, sealed)?;
        let secret = SigningSecret::parse(&String::from_utf8_lossy(secret.expose())).map_err(malformed)?;
        signatures.push(secret.sign(emit_id, seconds, body.as_bytes()));
    }
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("webhook-id", emit_id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signatures.join(" ")),
        ("x-emitter-id", emitter_id.to_owned()),
        ("x-event-name", event_name.to_owned()),
    ];
    let traceparent = trace.to_traceparent().map(|header| ("traceparent", header));
    Ok(Posting {
        method: "POST".to_owned(),
        url: webhook.url.as_str().to_owned(),
        headers: headers.into_iter().chain(traceparent).map(|(name, value)| (name.to_owned(), value)).collect(),
        body: body.into(),
        timeout: Duration::from_millis(platform.config.limits.delivery_timeout_ms),
        excerpt_bytes: EXCERPT_BYTES,
    })
}

/// The part of a record that the answer tells.
pub(crate) fn answer_of(posted: &Result<Posted, OutboundError>) -> DeliveryAttempt {
    let answered = posted.as_ref().ok();
    DeliveryAttempt {
        emit_id: String::new(),
        emitter_id: String::new(),
        event_name: String::new(),
        trace_id: TraceId::default(),
        attempt: 1,
        state: DeliveryState::GivenUp,
        status: answered.map(|posted| posted.status),
        excerpt: answered.and_then(|posted| excerpt(&posted.excerpt)),
        error: posted.as_ref().err().map(|error| cut(&error.to_string(), NAME_BYTES_MAXIMUM)),
        ms: 0,
        next_attempt_ms: None,
    }
}

pub(crate) fn append_attempt(webhook: &WebhookId, attempt: &DeliveryAttempt) -> Result<Op, Error> {
    let (emitter, stream) = (webhook.to_string(), names::DELIVERIES.to_owned());
    Ok(Op::Append { emitter, stream, value: attempt.encode()?, keep: ATTEMPTS_KEPT })
}
