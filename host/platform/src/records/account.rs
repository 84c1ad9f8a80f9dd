//! Apps, the clients that are registered with them, and the accounts that users connected to them.

use domain::apps::Provider;
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
    /// What a provider gave beside it; none when a user pasted the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
    /// Why it cannot be used any more, until it is reconnected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead: Option<Death>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What an OAuth provider granted, as far as components do not see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// [`GrantSecrets`], sealed.
    pub secrets: Sealed,
    pub client: ClientOwner,
    /// What the provider calls the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Counts the access tokens that the account had.
    pub generation: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// From when on it is refreshed; some time before it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_at_ms: Option<u64>,
    pub is_refreshable: bool,
    /// The lease of the host that refreshes it, written before the request leaves. One that has run out is of a host
    /// that ended in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshing: Option<RefreshLease>,
    /// The last refresh failed, and may succeed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RefreshFailure>,
    /// Epoch seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshed_at: Option<u64>,
}

/// The part of a grant that is sealed.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct GrantSecrets {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Of OAuth 1.0a.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_secret: Option<String>,
}

/// Whose client the account was connected with: tokens are refreshed with the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientOwner {
    /// The operator's, which all tenants share.
    Installation,
    /// The tenant's own.
    Tenant,
    /// The account's: its fields are the client.
    Account,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshLease {
    /// A random name: the holder knows its lease by it.
    pub holder: String,
    pub until_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshFailure {
    pub at_ms: u64,
    /// One after the other.
    pub count: u32,
    pub message: String,
}

/// An account whose grant is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Death {
    /// For people: what happened. What to do is the same for all: connect it again.
    pub reason: String,
    pub at: u64,
}

/// An app registered by the operator; kept with the operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct App {
    pub name_slug: String,
    pub name: String,
    pub auth_type: AuthType,
    /// How it is connected; none for an app of which only the name is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthType {
    None,
    Keys,
    /// Tokens that a user pastes.
    Oauth,
    Basic,
    Oauth2,
    Oauth1,
    ClientCredentials,
}

/// A client that the operator, or a tenant, registered with an app. Kept with its owner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppClient {
    /// Name slug of the app.
    pub app: String,
    pub client_id: String,
    pub client_secret: Sealed,
    /// Asked for instead of those of the provider file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    pub created_at: u64,
    pub updated_at: u64,
}

// === impl Grant ===

impl Grant {
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.refresh_at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    }

    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    }
}

// === impl AuthType ===

impl AuthType {
    pub fn of(auth: &domain::apps::Auth) -> Self {
        use domain::apps::Auth;
        match auth {
            Auth::None => Self::None,
            Auth::Keys => Self::Keys,
            Auth::Basic => Self::Basic,
            Auth::Oauth2(_) => Self::Oauth2,
            Auth::Oauth1(_) => Self::Oauth1,
            Auth::ClientCredentials(_) => Self::ClientCredentials,
        }
    }
}

impl Stored for Account {
    const KIND: &'static str = "account";
    as_json!();

    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Stored for App {
    const KIND: &'static str = "app";
    as_json!();

    fn id(&self) -> String {
        self.name_slug.clone()
    }
}

impl Stored for AppClient {
    const KIND: &'static str = "app_client";
    as_json!();

    fn id(&self) -> String {
        self.app.clone()
    }
}
