//! Connecting accounts: a wish is made over the API, and carried out in a browser, or on a device beside it.
//!
//! A wish has a link, good for a quarter of an hour. Its page asks for what the app needs and sends the browser to the
//! provider, with a `state` that is random, used once, and bound to the wish (so to its user and app) and to a cookie of
//! the browser that began; PKCE binds the code to the same visit. No address of a return is ever taken from a request.

mod device;
mod establish;
mod finish;
mod visit;

use std::collections::BTreeMap;

use domain::apps::{Auth, Oauth2};
use domain::ids::{AccountId, UserId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{DirectoryWrite, Lookup, Tenant};

use super::accounts;
use crate::providers::{self, find_provider};
use crate::records::{Account, Connect, ConnectOutcome, Kept, RecordError, names, table};
use crate::{Caller, Error, Noun, Platform};

pub use finish::{Callback, Finished, finish};
pub use visit::{LinkPage, Next, begin, open_link};

#[derive(Debug)]
pub struct NewConnect {
    pub app: String,
    pub name: Option<String>,
    /// The account that gets new credentials.
    pub account_id: Option<String>,
    pub scopes: Option<Vec<String>>,
    /// Asks for a code that a user types in elsewhere, instead of a link.
    pub is_device: bool,
    /// What a user would type into the page, for a device.
    pub fields: BTreeMap<String, String>,
}

/// What the API shows of a wish.
#[derive(Debug, Serialize)]
pub struct ConnectView {
    pub id: String,
    pub app: String,
    pub state: &'static str,
    /// Where it is carried out; in the answer to its creation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<AccountId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ConnectError>,
    pub created_at: u64,
    pub expires_at: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectError {
    pub code: String,
    pub message: String,
}

/// Why connecting went no further. Each is a page that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConnectProblem {
    #[error("this link is not known, was used, or is older than a quarter of an hour")]
    Link,
    #[error("this answer of the provider is not expected: it was used, is too old, or belongs to another visit")]
    State,
    #[error("this visit to the provider was begun in another browser")]
    Browser,
    #[error("the answer does not come from the provider that was asked")]
    Issuer,
    #[error("access was denied{}", described(.description))]
    Denied { description: String },
    #[error("the provider does not answer as expected: {message}")]
    Provider { message: String },
    #[error("you signed in as {found}, and this account is another one")]
    WrongAccount { found: String },
    #[error("the provider did not grant: {}", missing.join(", "))]
    MissingScopes { missing: Vec<String> },
    #[error("the fields do not fit")]
    Fields(Vec<domain::problem::Problem>),
    #[error(transparent)]
    Failed(#[from] Error),
}

/// What the directory says about a link or a state.
#[derive(Serialize, Deserialize)]
struct Holder {
    user: UserId,
    connect: String,
}

pub async fn create(caller: &Caller, platform: &Platform, new: NewConnect) -> Result<ConnectView, Error> {
    let provider = find_provider(platform, &new.app).await?;
    if provider.auth == Auth::None {
        return Err(Error::WrongFlow { app: new.app, reason: "it needs no account" });
    }
    if provider.fields.is_empty() && !provider.auth.needs_client() {
        return Err(Error::WrongFlow { app: new.app, reason: "what it needs is not known, so give the credentials" });
    }
    let reconnects = match &new.account_id {
        Some(id) => {
            let account = accounts::find(caller, platform, id).await?;
            if account.app != new.app {
                return Err(Error::WrongFlow { app: new.app, reason: "the account is one of another app" });
            }
            Some(account.id)
        }
        None => None,
    };
    if provider.auth.needs_client() {
        // Before a user is sent anywhere.
        providers::open_any(platform, &caller.tenant, &new.app).await?;
    }
    make_room(&caller.tenant, platform).await?;
    let token = format!("wsc_{}", hex::encode(platform.entropy.bytes::<32>()));
    let now = platform.clock.now_seconds();
    let mut connect = Connect {
        id: format!("con_{}", hex::encode(platform.entropy.bytes::<6>())),
        app: new.app,
        name: new.name,
        reconnects,
        scopes: new.scopes,
        link_hash: hash_of(&token),
        attempt: None,
        device: None,
        outcome: ConnectOutcome::Pending,
        created_at: now,
        expires_at: now.saturating_add(Connect::LIFETIME_SECONDS),
    };
    if new.is_device {
        let fields = provider.read_fields(&new.fields).map_err(Error::Fields)?;
        connect = device::begin(platform, &caller.tenant, connect, &provider, fields).await?;
    } else {
        claim(platform, &caller.user.id, &connect.id, &connect.link_hash).await?;
    }
    platform.store.commit(platform.batch(&caller.tenant).then(table::put(&connect)?)).await?;
    let url = (!new.is_device).then(|| format!("{}/connect/{token}", platform.config.public_url));
    Ok(ConnectView { url, ..ConnectView::from(&connect, now) })
}

/// How it stands. One that waits for a device asks the provider, as often as the provider allows.
pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<ConnectView, Error> {
    let found = table::find::<Connect>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let mut kept = found.ok_or_else(|| Error::not_found(Noun::Connect, id))?;
    let now = platform.clock.now_seconds();
    if kept.record.device.is_some() && kept.record.outcome == ConnectOutcome::Pending && !kept.record.is_expired(now) {
        kept = device::poll(platform, &caller.tenant, kept).await?;
    }
    Ok(ConnectView::from(&kept.record, now))
}

/// Gives it up: its link and its visit to the provider end.
pub async fn delete(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let found = table::find::<Connect>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let kept = found.ok_or_else(|| Error::not_found(Noun::Connect, id))?;
    remove(&caller.tenant, platform, &kept.record).await
}

pub(super) async fn remove(tenant: &Tenant, platform: &Platform, connect: &Connect) -> Result<(), Error> {
    let hashes = [Some(&connect.link_hash), connect.attempt.as_ref().map(|attempt| &attempt.state_hash)];
    for hash in hashes.into_iter().flatten() {
        platform.store.write_directory(DirectoryWrite::Remove { key: names::connect(hash) }).await?;
    }
    platform.store.commit(platform.batch(tenant).then(table::delete(connect))).await?;
    Ok(())
}

/// Removes those that have expired, and when there are many those that have ended; refuses when too many wait.
async fn make_room(tenant: &Tenant, platform: &Platform) -> Result<(), Error> {
    let now = platform.clock.now_seconds();
    let kept = table::list_all::<Connect>(&*platform.store, tenant).await?;
    let limit = platform.config.connects_per_account;
    let is_full = kept.len() >= limit;
    let is_over =
        |connect: &Connect| connect.is_expired(now) || (is_full && connect.outcome != ConnectOutcome::Pending);
    let (over, waiting): (Vec<_>, Vec<_>) = kept.iter().partition(|kept| is_over(&kept.record));
    for kept in over {
        remove(tenant, platform, &kept.record).await?;
    }
    if waiting.len() >= limit { Err(Error::TooMany { noun: Noun::Connect, limit }) } else { Ok(()) }
}

async fn claim(platform: &Platform, user: &UserId, connect: &str, hash: &str) -> Result<(), Error> {
    let holder = Holder { user: user.clone(), connect: connect.to_owned() };
    let value = serde_json::to_vec(&holder).map_err(malformed)?.into();
    platform.store.write_directory(DirectoryWrite::Claim { key: names::connect(hash), value }).await?;
    Ok(())
}

/// The wish behind a link or a state; none when there is none, or its time is over.
async fn find_by(platform: &Platform, secret: &str) -> Result<Option<(UserId, Kept<Connect>)>, Error> {
    let Some(bytes) = platform.store.look_up(&names::connect(&hash_of(secret))).await? else {
        return Ok(None);
    };
    let Holder { user, connect } = serde_json::from_slice(&bytes).map_err(malformed)?;
    let kept = table::find::<Connect>(&*platform.store, &names::tenant(&user), Lookup::Id(&connect)).await?;
    let now = platform.clock.now_seconds();
    Ok(kept.filter(|kept| !kept.record.is_expired(now)).map(|kept| (user, kept)))
}

/// Writes how it ended, when it has not changed since.
async fn settle(
    platform: &Platform,
    tenant: &Tenant,
    kept: &Kept<Connect>,
    outcome: ConnectOutcome,
) -> Result<(), Error> {
    let ended = Connect { outcome, attempt: None, device: None, ..kept.record.clone() };
    let batch = platform.batch(tenant).require(table::unchanged(kept)).then(table::put(&ended)?);
    match platform.store.commit(batch).await.map_err(Error::from) {
        // Another visit with the same link has begun.
        Ok(_) | Err(Error::Changed) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The scopes that are asked for: the wish's, the client's, the provider file's.
fn scopes_of(connect: &Connect, client: Option<&Vec<String>>, oauth: &Oauth2) -> Vec<String> {
    connect.scopes.as_ref().or(client).unwrap_or(&oauth.scopes).clone()
}

/// What is hashed has 256 random bits, so a fast hash is enough.
fn hash_of(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

fn malformed(source: serde_json::Error) -> Error {
    Error::Record(RecordError::Malformed { kind: "connect holder", source })
}

fn described(description: &str) -> String {
    if description.is_empty() { String::new() } else { format!(": {description}") }
}

/// Where an attempt's secrets belong.
fn context<'a>(tenant: &'a Tenant, connect: &'a Connect) -> crate::vault::Context<'a> {
    crate::vault::Context { tenant: tenant.as_str(), record: &connect.id, field: "attempt" }
}

async fn account_of(platform: &Platform, tenant: &Tenant, id: &AccountId) -> Result<Option<Kept<Account>>, Error> {
    Ok(table::find::<Account>(&*platform.store, tenant, Lookup::Id(id.as_str())).await?)
}

// === impl ConnectProblem ===

impl ConnectProblem {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Link => "link_expired",
            Self::State => "state_expired",
            Self::Browser => "wrong_browser",
            Self::Issuer => "wrong_issuer",
            Self::Denied { .. } => "access_denied",
            Self::Provider { .. } => "provider_failed",
            Self::WrongAccount { .. } => "wrong_account",
            Self::MissingScopes { .. } => "missing_scopes",
            Self::Fields(_) => "invalid_fields",
            Self::Failed(_) => "failed",
        }
    }

    /// What the wish's record says; none when the wish goes on as if nothing had been.
    fn outcome(&self) -> Option<ConnectOutcome> {
        match self {
            Self::Link | Self::State | Self::Browser | Self::Fields(_) => None,
            Self::Failed(Error::TooMany { .. } | Error::NotConnected { .. })
            | Self::Issuer
            | Self::Denied { .. }
            | Self::Provider { .. }
            | Self::WrongAccount { .. }
            | Self::MissingScopes { .. } => {
                Some(ConnectOutcome::Failed { code: self.code().to_owned(), message: self.to_string() })
            }
            // The host's own failure: another try may succeed.
            Self::Failed(_) => None,
        }
    }
}

// === impl ConnectView ===

impl ConnectView {
    fn from(connect: &Connect, now_seconds: u64) -> Self {
        let (state, account_id, error) = match &connect.outcome {
            ConnectOutcome::Pending if connect.is_expired(now_seconds) => {
                let message = "it was not carried out within a quarter of an hour".to_owned();
                ("failed", None, Some(ConnectError { code: "expired".to_owned(), message }))
            }
            ConnectOutcome::Pending => ("pending", None, None),
            ConnectOutcome::Connected { account_id } => ("connected", Some(account_id.clone()), None),
            ConnectOutcome::Failed { code, message } => {
                ("failed", None, Some(ConnectError { code: code.clone(), message: message.clone() }))
            }
        };
        Self {
            id: connect.id.clone(),
            app: connect.app.clone(),
            state,
            url: None,
            user_code: connect.device.as_ref().map(|device| device.user_code.clone()),
            verification_uri: connect.device.as_ref().map(|device| device.verification_uri.clone()),
            account_id,
            error,
            created_at: connect.created_at,
            expires_at: connect.expires_at,
        }
    }
}
