//! Account-level delivery endpoints.

use domain::ids::WebhookId;
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
    /// A sealed `domain::webhooks::SigningSecret`, in its text form.
    pub signing_secret: Sealed,
    /// The one before, while receivers change over.
    #[serde(default)]
    pub previous_secret: Option<PreviousSecret>,
    pub created_at: u64,
    pub updated_at: u64,
}

// === impl Webhook ===

impl Webhook {
    /// What deliveries are signed with, newest first.
    pub fn secrets(&self, now_seconds: u64) -> impl Iterator<Item = &Sealed> {
        let previous = self.previous_secret.as_ref().filter(|previous| previous.expires_at > now_seconds);
        std::iter::once(&self.signing_secret).chain(previous.map(|previous| &previous.secret))
    }
}

impl Stored for Webhook {
    const KIND: &'static str = "webhook";

    fn id(&self) -> String {
        self.id.to_string()
    }
}
