//! Users, their API keys, and the audit log of what was done with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Rest;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: String,
    pub username: String,
    #[serde(flatten)]
    pub rest: Rest,
}

/// An API key, without the key itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    pub id: String,
    #[serde(default)]
    pub name: Option<String>,
    /// Everything that the account may do, when absent.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    #[serde(default)]
    pub expires_at: Option<i64>,
    #[serde(default)]
    pub last_used_at: Option<i64>,
    pub created_at: i64,
    /// Whether the request was made with it.
    #[serde(default)]
    pub current: bool,
    #[serde(flatten)]
    pub rest: Rest,
}

/// One line of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditEntry {
    pub id: String,
    pub at_ms: i64,
    pub user_id: Option<String>,
    pub username: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_name: Option<String>,
    pub action: String,
    #[serde(default)]
    pub ids: BTreeMap<String, String>,
    pub from: Option<String>,
    pub status: u16,
    #[serde(flatten)]
    pub rest: Rest,
}
