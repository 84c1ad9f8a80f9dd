//! What listens to events, and deliveries that were given up.

use serde::{Deserialize, Serialize};

use super::Rest;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subscription {
    pub id: String,
    pub emitter_id: String,
    pub listener_id: String,
    pub event_name: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Webhook {
    pub id: String,
    pub name: Option<String>,
    pub url: String,
    pub active: bool,
    /// Why deliveries switched it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inactive_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// A delivery that was given up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeadLetter {
    pub id: String,
    pub emitter: String,
    pub listener: String,
    pub event_name: String,
    pub attempts: u64,
    pub reason: String,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}
