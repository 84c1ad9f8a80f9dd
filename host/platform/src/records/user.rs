//! Accounts and their keys.

use domain::ids::UserId;
use domain::keys::Scopes;
use domain::users::{Plan, Role};
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::vault::Sealed;

/// An account, kept with the operator: it is looked up before the tenant's own partition is touched.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub username: String,
    pub email: String,
    pub role: Role,
    pub plan: Plan,
    pub created_at: u64,
    pub updated_at: u64,
}

/// A key of an account, kept with the account. The key itself is never stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    /// Names the key without telling it.
    pub id: String,
    /// SHA-256 of the key, in hex.
    pub hash: String,
    /// For people to recognise it.
    #[serde(default)]
    pub name: Option<String>,
    /// Everything that the account may do, when absent.
    #[serde(default)]
    pub scopes: Option<Scopes>,
    /// Epoch seconds; it does not expire when absent.
    #[serde(default)]
    pub expires_at: Option<u64>,
    /// Epoch seconds, a minute late at most: see `KeyUses`.
    #[serde(default)]
    pub last_used_at: Option<u64>,
    pub created_at: u64,
}

/// One per store: that it was set up, and a text that only the right encryption key opens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Installation {
    pub first_user: UserId,
    pub key_check: Sealed,
    pub created_at: u64,
}

impl Stored for User {
    const KIND: &'static str = "user";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }
}

// === impl ApiKey ===

impl ApiKey {
    pub fn is_expired(&self, now_seconds: u64) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now_seconds)
    }
}

impl Stored for ApiKey {
    const KIND: &'static str = "api_key";
    as_json!();

    fn id(&self) -> String {
        self.id.clone()
    }
}

// === impl Installation ===

impl Installation {
    pub const ID: &'static str = "installation";
}

impl Stored for Installation {
    const KIND: &'static str = "installation";
    as_json!();

    fn id(&self) -> String {
        Self::ID.to_owned()
    }
}
