//! The record of one attempt to deliver an event to a webhook.

use serde::{Deserialize, Serialize};

use crate::trace::TraceId;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryAttempt {
    /// Of the event.
    pub emit_id: String,
    pub emitter_id: String,
    pub event_name: String,
    #[serde(default, skip_serializing_if = "TraceId::is_none")]
    pub trace_id: TraceId,
    /// Counts from one.
    pub attempt: u32,
    pub state: DeliveryState,
    /// What the receiver answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Until the head of the answer, or the failure.
    pub ms: u64,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    Delivered,
    /// It is tried again.
    Failing,
    GivenUp,
}
