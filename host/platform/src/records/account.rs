//! Apps, and the accounts that users connected to them.

use domain::ids::AccountId;
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::vault::Sealed;

/// Credentials of one user for one app.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub id: AccountId,
    /// Name slug of the app.
    pub app: String,
    pub name: String,
    /// A sealed JSON object of strings: what components see as `$auth`.
    pub credentials: Sealed,
    pub created_at: u64,
    pub updated_at: u64,
}

/// An app registered by the operator; kept with the operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct App {
    pub name_slug: String,
    pub name: String,
    pub auth_type: AuthType,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthType {
    None,
    Keys,
    Oauth,
}

impl Stored for Account {
    const KIND: &'static str = "account";

    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Stored for App {
    const KIND: &'static str = "app";

    fn id(&self) -> String {
        self.name_slug.clone()
    }
}
