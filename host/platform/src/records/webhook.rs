//! Account-level delivery endpoints.

use domain::ids::WebhookId;
use domain::webhooks::WebhookUrl;
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::vault::Sealed;

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
    pub created_at: u64,
    pub updated_at: u64,
}

impl Stored for Webhook {
    const KIND: &'static str = "webhook";

    fn id(&self) -> String {
        self.id.to_string()
    }
}
