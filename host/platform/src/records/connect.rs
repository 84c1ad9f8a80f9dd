//! Connecting an account: from the link that a user opens to the account, or why there is none.

use std::collections::BTreeMap;

use domain::ids::AccountId;
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::vault::Sealed;

/// One wish to connect an account, for a quarter of an hour.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Connect {
    pub id: String,
    /// Name slug of the app.
    pub app: String,
    /// The account's name; what the provider calls it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The account that gets new credentials; a new one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnects: Option<AccountId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// SHA-256 of the token in its link, in hex.
    pub link_hash: String,
    /// The user is at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    pub outcome: ConnectOutcome,
    pub created_at: u64,
    pub expires_at: u64,
}

/// One visit of a browser to the provider. Another one replaces it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// SHA-256 of `state`, in hex.
    pub state_hash: String,
    /// SHA-256 of the cookie of the browser that began it, in hex.
    pub browser_hash: String,
    /// [`AttemptSecrets`], sealed.
    pub secrets: Sealed,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct AttemptSecrets {
    /// Of PKCE.
    #[serde(default)]
    pub verifier: String,
    /// Of OAuth 1.0a.
    #[serde(default)]
    pub request_token: String,
    #[serde(default)]
    pub request_secret: String,
    /// What the user typed in before.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

/// A device authorization that waits for its user (RFC 8628).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device {
    pub user_code: String,
    pub verification_uri: String,
    /// The device code and the fields, sealed as [`AttemptSecrets`] with the code as verifier.
    pub secrets: Sealed,
    pub interval_ms: u64,
    /// The provider is not asked before.
    pub next_poll_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ConnectOutcome {
    Pending,
    Connected { account_id: AccountId },
    Failed { code: String, message: String },
}

// === impl Connect ===

impl Connect {
    pub const LIFETIME_SECONDS: u64 = 15 * 60;

    pub fn is_expired(&self, now_seconds: u64) -> bool {
        self.expires_at <= now_seconds
    }
}

impl Stored for Connect {
    const KIND: &'static str = "connect";
    as_json!();

    fn id(&self) -> String {
        self.id.clone()
    }
}
