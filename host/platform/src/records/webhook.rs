//! Account-level delivery endpoints.

use domain::deliveries::Health;
use domain::ids::{EmitterId, WebhookId};
use domain::webhooks::WebhookUrl;
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::vault::Sealed;

/// A secret that deliveries are signed with beside the current one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviousSecret {
    /// Sealed as the current one was.
    pub secret: Sealed,
    /// Epoch seconds.
    pub expires_at: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Webhook {
    pub id: WebhookId,
    pub name: Option<String>,
    pub description: Option<String>,
    pub url: WebhookUrl,
    pub is_active: bool,
    /// Why deliveries switched it off; none when it is active, or was switched off by hand.
    #[serde(default)]
    pub inactive_reason: Option<String>,
    /// Epoch milliseconds; while it is set deliveries wait in the queue.
    #[serde(default)]
    pub paused_at_ms: Option<u64>,
    /// A sealed `domain::webhooks::SigningSecret`, in its text form.
    pub signing_secret: Sealed,
    /// The one before, while receivers change over.
    #[serde(default)]
    pub previous_secret: Option<PreviousSecret>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// How deliveries to a webhook went. A record of its own, because attempts write it and users write the webhook.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookHealth {
    pub id: WebhookId,
    #[serde(flatten)]
    pub health: Health,
    /// The emitter of the last event that could not be delivered: its `$errors` is where an outage is reported.
    pub failing_emitter: Option<EmitterId>,
    /// When the job is due that looks whether the outage is to be reported; there is one at most.
    pub check_due_ms: Option<u64>,
    /// The present outage was reported.
    pub is_reported: bool,
}

// === impl WebhookHealth ===

impl WebhookHealth {
    pub fn new(id: WebhookId) -> Self {
        let health = Health::default();
        Self { id, health, failing_emitter: None, check_due_ms: None, is_reported: false }
    }
}

impl Stored for WebhookHealth {
    const KIND: &'static str = "webhook_health";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }
}

// === impl Webhook ===

impl Webhook {
    /// Not by a receiver that is gone: then deliveries have no say in it.
    pub fn is_off_by_hand(&self) -> bool {
        !self.is_active && self.inactive_reason.is_none()
    }

    /// What deliveries are signed with, newest first.
    pub fn secrets(&self, now_seconds: u64) -> impl Iterator<Item = &Sealed> {
        let previous = self.previous_secret.as_ref().filter(|previous| previous.expires_at > now_seconds);
        std::iter::once(&self.signing_secret).chain(previous.map(|previous| &previous.secret))
    }
}

impl Stored for Webhook {
    const KIND: &'static str = "webhook";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }
}
