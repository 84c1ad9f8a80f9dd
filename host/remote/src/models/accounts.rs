//! Apps, the accounts that are connected to them, and accounts that are being connected.

use serde::{Deserialize, Serialize};

use super::Rest;

/// What accounts can be connected to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct App {
    pub name_slug: String,
    pub name: String,
    pub auth_type: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub id: String,
    pub app: String,
    pub name: String,
    /// Absent on servers that do not refresh tokens.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// An account that is being connected.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Connect {
    pub id: String,
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ConnectError>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectError {
    pub code: String,
    pub message: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccountTest {
    pub ok: bool,
    pub message: String,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccountUse {
    pub id: String,
    pub name: String,
    #[serde(flatten)]
    pub rest: Rest,
}
